#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that every #include points to its own folder or to one on its left.

  tests/layer_test.py              checks the source tree
  tests/layer_test.py --selftest   shows that each fault is found

The order of the folders is the table of tools/layers.bzl, which Bazel's
visibility follows too; this test also sees headers that Bazel would let pass
because some dependency brings them along.
"""

import pathlib
import re
import sys
import tempfile

RULE = ("a file includes only from its own folder and from folders to the "
        "left of it (tools/layers.bzl)")
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')


class Layers:
    """The table of tools/layers.bzl, which is Python as well as Starlark."""

    def __init__(self, text):
        names = {}
        exec(text, names)
        self.rank = {folder: rank
                     for rank, row in enumerate(names["LAYERS"])
                     for folder in row}
        self.apart = names.get("APART", [])
        self.tops = {folder.split("/")[0] for folder in self.rank}

    def folder_of(self, name):
        """The row's folder in which the file `name` stands, or None."""
        folder = parent = pathlib.PurePath(name).parent.as_posix()
        while parent not in self.rank and "/" in parent:
            parent = parent.rpartition("/")[0]
        divided = any(other.startswith(parent + "/") for other in self.rank)
        if parent not in self.rank or (divided and parent != folder):
            return None
        return parent

    def fault(self, name, included):
        """Why the file `name` may not include `included`, or None."""
        if included.split("/")[0] not in self.tops:
            return None  # a library
        if name.endswith("_test.cc") and included.startswith("tests/"):
            return None  # what all tests share
        for room in self.apart:
            users = (room + "/", "ocannl/ocannl.h", "experiments/", "tests/")
            if included.startswith(room + "/") and not name.startswith(users):
                return f"{included} is for users, not for the engine"
        own, other = self.folder_of(name), self.folder_of(included)
        if other is None:
            return f"{included} stands in no folder of the order; {RULE}"
        if own == other or self.rank[other] < self.rank[own]:
            return None
        return f"{included} is not to the left of {own}; {RULE}"


def faults(root, layers):
    """Yields a message for each include that breaks the rule."""
    for top in sorted(layers.tops):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in (".h", ".cc", ".def"):
                continue
            name = path.relative_to(root).as_posix()
            if layers.folder_of(name) is None:
                yield f"{name}: add its folder to tools/layers.bzl"
                continue
            lines = path.read_text(encoding="utf-8").splitlines()
            for number, line in enumerate(lines, start=1):
                if not (match := INCLUDE.match(line)):
                    continue
                fault = layers.fault(name, match[1])
                if (path.parent / match[1]).exists():
                    fault = f"write the path from the root: {match[1]}"
                if fault:
                    yield f"{name}:{number}: {fault}"


def main():
    # Bazel links this file of the real source tree into the test's folder.
    root = pathlib.Path("WORKSPACE").resolve(strict=True).parent
    layers = Layers((root / "tools/layers.bzl").read_text(encoding="utf-8"))
    found = list(faults(root, layers))
    for fault in found:
        print(fault)
    print(f"{len(found)} includes or folders break the order")
    return 1 if found else 0


def selftest():
    """Triples of a file, what it includes, and a part of the message."""
    layers = Layers('LAYERS = [["e/base"], ["e/loop"], ["e"], ["x", "y"],'
                    ' ["tests"]]\nAPART = ["x/compat"]')
    left = "is not to the left of"
    cases = [
        ("e/base/a.h", "e/base/b.h", None),
        ("e/loop/a.h", "e/base/b.h", None),
        ("e/loop/deep/a.h", "e/base/deep/b.h", None),
        ("e/a.h", "e/loop/b.h", None),
        ("x/a.cc", "e/b.h", None),
        ("x/a.cc", "absl/status/status.h", None),
        ("e/base/a_test.cc", "tests/matchers.h", None),
        ("e/base/a.h", "e/loop/b.h", "a.h:2: e/loop/b.h " + left + " e/base;"),
        ("e/base/a.def", "e/loop/b.h", left),
        ("e/base/a_test.cc", "e/loop/b.h", left),
        ("e/loop/a.h", "e/b.h", left),
        ("x/a.cc", "y/b.h", left),
        ("x/a.cc", "tests/b.h", left),
        ("x/a.cc", "e/new/b.h", "no folder of the order"),
        ("x/a.cc", "a.cc", "from the root"),
        ("e/new/a.cc", "e/base/b.h", "add its folder"),
        ("x/compat/a.cc", "x/compat/b.h", None),
        ("tests/a.cc", "x/compat/b.h", None),
        ("x/a.cc", "x/compat/b.h", "for users, not for the engine"),
    ]
    for name, included, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_text(f'#include <map>\n #include "{included}"  // c\n',
                            encoding="utf-8")
            found = list(faults(pathlib.Path(folder), layers))
        if expected is None:
            assert not found, found
        else:
            assert len(found) == 1 and expected in found[0], (name, found)
    print(f"{len(cases)} cases")
    return 0


if __name__ == "__main__":
    sys.exit(selftest() if "--selftest" in sys.argv else main())
