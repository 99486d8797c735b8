#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/glossary.md to the headers that it names.

  tests/glossary_test.py              every header exists and has its term
  tests/glossary_test.py --selftest   shows that each fault is found
"""

import pathlib
import re
import sys
import tempfile

FEWEST_TERMS = 50  # a table that does not parse must not pass


def normalized(text):
    """Lower case, without comment marks and line breaks."""
    return re.sub(r"[\s/]+", " ", text).lower()


def errors(root):
    """What is wrong with the glossary, a line each."""
    found = []
    terms = 0
    for line in (root / "docs/glossary.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 3 or not cells[2].startswith("ocannl/"):
            continue
        terms += 1
        header = root / cells[2]
        if not header.is_file():
            found.append(f"{cells[0]}: there is no {cells[2]}")
            continue
        text = normalized(header.read_text())
        for term in normalized(cells[0]).split(","):
            word = rf"(?<!\w){re.escape(term.strip())}s?(?!\w)"
            if not re.search(word, text):
                found.append(f"{cells[2]} does not have `{term.strip()}`")
    if terms < FEWEST_TERMS:
        found.append(f"only {terms} terms")
    return found


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "ocannl").mkdir()
        (root / "ocannl/a.h").write_text("// A live\n// interval.\n")
        rows = ["| live interval | x | ocannl/a.h |"] * FEWEST_TERMS
        page = root / "docs/glossary.md"
        page.write_text("\n".join(rows))
        assert not errors(root), errors(root)
        page.write_text("\n".join(rows[1:]))
        assert len(errors(root)) == 1
        for term in ("spill", "liv"):  # absent, and a part of a word
            page.write_text("\n".join(rows + [f"| {term} | x | ocannl/a.h |"]))
            assert len(errors(root)) == 1
        page.write_text("\n".join(rows + ["| spill | x | ocannl/b.h |"]))
        assert len(errors(root)) == 1


def main():
    if "--selftest" in sys.argv[1:]:
        return selftest()
    # Bazel links this file of the real source tree into the test's folder.
    found = errors(pathlib.Path("WORKSPACE").resolve(strict=True).parent)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
