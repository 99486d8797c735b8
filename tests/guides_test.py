#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/guides to the files, the tool and the targets that it names.

  tests/guides_test.py              every path, target, excerpt, output is true
  tests/guides_test.py --update     writes what the tool prints into the pages
  tests/guides_test.py --selftest   shows that each fault is found

A path is inline code with a slash and without a blank; globs are allowed. A
fenced block whose preceding line is `<!-- from PATH -->` has lines of that
file, and one behind `<!-- output of ARGS -->` is all that the tool prints.
"""

import collections
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import typing

TOOL = "ocannl/ocannl"
MOST_LINES = 89
# What does not parse must not pass.
FEWEST = {"page": 11, "path": 60, "target": 15, "from": 9, "output of": 3}


class Block(typing.NamedTuple):
    """A fenced block; its lines are page[first:end]."""
    kind: str  # "from", "output of", or "" of one without a comment
    argument: str
    first: int
    end: int


def blocks_of(page):
    """The fenced blocks of a page, which is a list of lines."""
    found = []
    first = None
    for at, line in enumerate(page):
        if not line.startswith("```"):
            continue
        if first is None:
            first = at + 1
            continue
        before = page[first - 2] if first > 1 else ""
        match = re.fullmatch(r"<!-- (from|output of) (.*) -->", before)
        found.append(Block(*(match.groups() if match else ("", "")), first, at))
        first = None
    return found


def outside(page, blocks):
    """The text of the page that is in none of these blocks."""
    inside = {at for block in blocks for at in range(block.first, block.end)}
    return "\n".join(line for at, line in enumerate(page) if at not in inside)


def has_target(root, label):
    package, _, name = label[2:].partition(":")
    build = root / package / "BUILD"
    name = name or package.rpartition("/")[2]
    return build.is_file() and f'"{name}"' in build.read_text()


def errors_of_names(root, page, blocks, counts):
    """Paths that are not there, and targets."""
    text = outside(page, blocks)
    for path in re.findall(r"(?<!`)`([^`\s]*/[^`\s]*)`(?!`)", text):
        if path.startswith("//"):
            continue
        counts["path"] += 1
        if path.startswith("/") or not list(root.glob(path)):
            yield f"there is no {path}"
    written = outside(page, [block for block in blocks if block.kind])
    for label in re.findall(r"(?<![\w:/])//\w[\w/]*(?:\.{3}|:\w+)?", written):
        if label.endswith("..."):
            continue
        counts["target"] += 1
        if not has_target(root, label):
            yield f"there is no target {label}"


def errors_of_places(page):
    """Whether as many places are numbered as the page says at its top."""
    said = re.match(r"(\d+) places?\b", page[2] if len(page) > 2 else "")
    if not said:
        return ["its third line does not begin with `N places`"]
    numbers = [int(match[1]) for line in page
               if (match := re.match(r"(\d+)\. ", line))]
    if numbers != list(range(1, int(said[1]) + 1)):
        return [f"it says {said[0]}, and numbers {numbers}"]
    return []


def has_lines(path, lines):
    """Whether the file has these lines, one behind the other."""
    if not path.is_file():
        return False
    every = path.read_text(encoding="utf-8").splitlines()
    return bool(lines) and any(every[at:at + len(lines)] == lines
                               for at in range(len(every)))


def output_of(root, tool, arguments):
    """The lines that the tool prints, errors too."""
    return subprocess.run([tool, *shlex.split(arguments)], cwd=root, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False).stdout.splitlines()


def errors_of_blocks(root, tool, page, blocks, counts):
    marked = sum(line.startswith("<!--") for line in page)
    if marked != sum(bool(block.kind) for block in blocks):
        yield "a comment has no block behind it"
    for block in blocks:
        counts[block.kind] += 1
        lines = page[block.first:block.end]
        if block.kind == "from" and not has_lines(root / block.argument, lines):
            yield f"{block.argument} does not have the lines of the block"
        if block.kind == "output of":
            if (printed := output_of(root, tool, block.argument)) != lines:
                yield "\n".join([f"`{block.argument}` prints", *printed])


def errors(root, tool):
    """What is wrong with the pages, a line each, and what was counted."""
    found = []
    counts = collections.Counter()
    linking = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for path in sorted((root / "docs/guides").glob("*.md")):
        name = str(path.relative_to(root))
        page = path.read_text(encoding="utf-8").splitlines()
        blocks = blocks_of(page)
        counts["page"] += 1
        wrong = [*errors_of_names(root, page, blocks, counts),
                 *errors_of_places(page),
                 *errors_of_blocks(root, tool, page, blocks, counts)]
        if len(page) > MOST_LINES:
            wrong.append(f"{len(page)} lines; the limit is {MOST_LINES}")
        if name not in linking:
            wrong.append("CONTRIBUTING.md does not link it")
        if all(block.kind != "from" for block in blocks):
            wrong.append("it quotes no file")
        found += [f"{name}: {one}" for one in wrong]
    found += [f"only {counts[kind]} of `{kind}`"
              for kind, fewest in FEWEST.items() if counts[kind] < fewest]
    return found, counts


def update(root, tool):
    for path in sorted((root / "docs/guides").glob("*.md")):
        page = path.read_text(encoding="utf-8").splitlines()
        for block in reversed(blocks_of(page)):
            if block.kind == "output of":
                page[block.first:block.end] = output_of(root, tool,
                                                        block.argument)
        path.write_text("\n".join(page) + "\n", encoding="utf-8")


PAGE = """# Add a thing

1 place. The target `//ocannl:thing` is built by `./bazelw test //tests/...`.

1. `ocannl/a.h`, as `ocannl/*.h`, or `a / b`.

<!-- from ocannl/a.h -->
```cpp
void F();
void G();
```

<!-- output of say 'two words' -->
```
say
two words
```
"""


def selftest():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name in ("docs/guides", "ocannl"):
            (root / name).mkdir(parents=True)
        (root / "ocannl/a.h").write_text("// F\nvoid F();\nvoid G();\n")
        (root / "ocannl/BUILD").write_text('cc_library(name = "thing")\n')
        tool = root / "tool"
        tool.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        tool.chmod(0o755)
        names = [f"docs/guides/{k}.md" for k in range(FEWEST["path"])]
        (root / "CONTRIBUTING.md").write_text("\n".join(names))

        def found(page, how_many=len(names)):
            for at, name in enumerate(names):
                (root / name).write_text(page if at == 0 else PAGE)
            for name in names[how_many:]:
                (root / name).unlink()
            return errors(root, tool)[0]

        assert not found(PAGE), found(PAGE)
        for good, bad in (
                ("`ocannl/a.h`", "`ocannl/b.h`"), ("/*.h`", "/*.cc`"),
                ("`ocannl/a.h`", "`/ocannl/a.h`"), (":thing", ":thin"),
                ("//ocannl", "//ocann"), ("1 place", "2 places"),
                ("1 place", "A place"), ("1. ", "- "), ("F();", "H();"),
                ("F();\n", "F();\n\n"), ("-- from", "-- of"),
                ("from ocannl/a.h", "from ocannl/b.h"),
                ("two words'", "two'"), ("\nsay\n", "\n"),
                ("-- output of", "-- output"),
                ("1. ", "\n" * MOST_LINES + "1. "),
        ):
            assert PAGE.replace(good, bad) != PAGE, good
            assert found(PAGE.replace(good, bad)), bad
        # Each count is needed.
        assert len(found(PAGE, 0)) == len(FEWEST)
        # Pages that nobody links are not read.
        (root / "CONTRIBUTING.md").write_text("\n".join(names[1:]))
        assert len(found(PAGE)) == 1
        (root / names[0]).write_text(PAGE.replace("\nsay\n", "\nx\ny\n"))
        update(root, tool)
        assert (root / names[0]).read_text() == PAGE


def main():
    if "--selftest" in sys.argv[1:]:
        return selftest()
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    tool = pathlib.Path(TOOL).resolve()
    if "--update" in sys.argv[1:]:
        return update(root, tool)
    found, counts = errors(root, tool)
    print(", ".join(f"{kind or 'other blocks'}: {count}"
                    for kind, count in counts.items()))
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
