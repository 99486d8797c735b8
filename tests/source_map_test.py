#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/source_map.md to the names and tests that it tells of.

  tests/source_map_test.py              every name and every test exists
  tests/source_map_test.py --selftest   shows that each fault is found
"""

import pathlib
import re
import sys
import tempfile

FEWEST_ROWS = 50  # a table that does not parse must not pass


def has_word(path, word):
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", path.read_text())


def errors(root):
    """What is wrong with the table, a line each."""
    found = []
    rows = 0
    for line in (root / "docs/source_map.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) != 4 or "/" not in cells[2]:
            continue
        rows += 1
        test, _, name = cells[3].partition(": ")
        for path, word in ((cells[2], cells[1]), (test, name)):
            if not (root / path).is_file():
                found.append(f"{cells[0]}: there is no {path}")
            elif not word or not has_word(root / path, word):
                found.append(f"{cells[0]}: {path} does not have `{word}`")
    if rows < FEWEST_ROWS:
        found.append(f"only {rows} rows")
    return found


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("docs", "ocannl", "tests"):
            (root / name).mkdir()
        (root / "ocannl/a.h").write_text("void Forward();\n")
        (root / "tests/a_test.cc").write_text("TEST(A, Goes) {}\n")
        row = "| forward | Forward | ocannl/a.h | tests/a_test.cc: Goes |"
        page = root / "docs/source_map.md"
        page.write_text("\n".join([row] * FEWEST_ROWS))
        assert not errors(root), errors(root)
        page.write_text("\n".join([row] * (FEWEST_ROWS - 1)))
        assert len(errors(root)) == 1
        for good, bad in (("| Forward |", "| Forwards |"),
                          ("a.h", "b.h"), ("a_test", "b_test"),
                          (": Goes", ": Runs"), (": Goes", "")):
            rows = [row] * FEWEST_ROWS + [row.replace(good, bad)]
            page.write_text("\n".join(rows))
            assert len(errors(root)) == 1, bad


def main():
    if "--selftest" in sys.argv[1:]:
        return selftest()
    # Bazel links this file of the real source tree into the test's folder.
    found = errors(pathlib.Path("WORKSPACE").resolve(strict=True).parent)
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
