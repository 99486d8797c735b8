#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the lessons and compares what they print with the .txt beside each.

  bazel run //experiments/lessons:lessons_test -- --update    writes the .txt
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path("experiments/lessons")


def comparable(text):
    """Without line numbers of calls: of one that takes several lines, GCC names
    the first and clang the last."""
    return re.sub(r"(# \w+\.cc):\d+$", r"\1", text, flags=re.MULTILINE)


def main():
    """Compares, or updates; returns the exit code."""
    update = sys.argv[1:] == ["--update"]
    fault = False
    lessons = [path for path in sorted(FOLDER.iterdir())
               if path.name[:2].isdigit() and not path.suffix]
    if not lessons:
        sys.exit("no lessons beside this test")
    for lesson in lessons:
        for flag, code in ("--help", 0), ("--foo", 2):
            ran = subprocess.run([lesson, flag], capture_output=True, text=True)
            assert ran.returncode == code, (lesson, flag, ran)
            assert lesson.name in ran.stdout + ran.stderr, (flag, ran)
        printed = subprocess.run([lesson], check=True, capture_output=True,
                                 text=True).stdout
        expected = lesson.with_suffix(".txt")
        if update:
            root = pathlib.Path(os.environ["BUILD_WORKSPACE_DIRECTORY"])
            (root / expected).write_text(printed, encoding="utf-8")
            continue
        wanted = expected.read_text(encoding="utf-8")
        if comparable(printed) == comparable(wanted):
            continue
        fault = True
        sys.stdout.writelines(difflib.unified_diff(
            wanted.splitlines(True), printed.splitlines(True), str(expected),
            str(lesson)))
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
