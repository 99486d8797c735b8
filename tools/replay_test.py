#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows to tools/replay.py builds that agree and builds that do not."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REPLAY = pathlib.Path("tools/replay.py").resolve()

# Prints its arguments, and the file if it is given one.
TOOL = 'echo "code of $*"\nif [ -f "$2" ]; then cat "$2"; fi\n'

BENCH = """\
for arg in "$@"; do
  value="${arg#*=}"
  case "$arg" in
    --list) echo gemm/16 ;;
    --dump=*) cd "$BUILD_WORKING_DIRECTORY" && mkdir "$value" &&
      echo "gemm" >"$value/gemm_16.ll" ;;
    --json=*) echo 'FIGURES' >"$value" ;;
  esac
done
"""

# Those of a build up to 0.3, and of a later one.
OLD_FIGURES = """{"workloads": [{"name": "gemm/16", "contenders": [
    {"ours": true, "seconds": {"least": 3}}]}]}"""
NEW_FIGURES = """{"benchmarks": [
    {"name": "gemm/16/clock", "label": "clock"},
    {"name": "gemm/16/x86", "label": "x86", "ours": 1, "seconds_least": 2}]}"""


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


class ReplayTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        write(self.folder / "tests/golden/eval/sum.txt",
              "# RUN: eval 'x + 1' --in=x=range:3 --tier=all\n---\n1 2 3\n")
        write(self.folder / "tests/golden/help/run.txt",
              "# RUN: run --help\n---\nhelp\n")
        write(self.folder / "tests/agree/programs/rows.ll", "p ():\n  rows\n")
        for build, figures in ("old", OLD_FIGURES), ("new", NEW_FIGURES):
            write(self.folder / build / "tool", "#!/bin/sh\n" + TOOL)
            write(self.folder / build / "bench",
                  "#!/bin/sh\n" + BENCH.replace("FIGURES", figures))

    def new_tool(self, text):
        write(self.folder / "new/tool", "#!/bin/sh\n" + text)

    def replay(self, *flags):
        """Exit status and output."""
        result = subprocess.run(
            [sys.executable, REPLAY, "--old=old", "--new=new", "--dir=dir",
             *flags],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ,
                 "BUILD_WORKSPACE_DIRECTORY": str(self.folder),
                 "BUILD_WORKING_DIRECTORY": str(self.folder)})
        return result.returncode, result.stdout

    def test_equal_builds(self):
        status, text = self.replay()
        self.assertEqual(status, 0, text)
        for stage in ("schedule avx2", "schedule avx512", "x86 avx2",
                      "x86 avx512"):
            self.assertRegex(text, stage + r" +3 programs, +0 refused by both,"
                                           r" +0 differ\n")

    def test_one_line_differs(self):
        self.new_tool(TOOL.replace("cat", "sed s/rows/columns/"))
        status, text = self.replay("--stages=ll,x86", "--isa=avx2")
        self.assertEqual(status, 1, text)
        self.assertEqual(text.count("1 differ\n"), 2, text)
        self.assertIn(" agree/rows: explain agree/rows.ll --stage=x86 "
                      "--isa=avx2\n  3: -   rows\n  3: +   columns\n", text)

    def test_what_differs_is_what_the_golden_compiles(self):
        self.new_tool(TOOL.replace("code", "coda"))
        status, text = self.replay("--filter=golden/", "--stages=ll")
        self.assertEqual(status, 1, text)
        self.assertIn(" golden/eval/sum: explain 'x + 1' --in=x=range:3 "
                      "--stage=ll\n  1: - code of", text)

    def test_programs_of_workloads_have_no_more_passes(self):
        self.new_tool(TOOL.replace("code", "coda"))
        _, text = self.replay("--programs=bench", "--stages=ll,schedule")
        explain = " bench/gemm_16: explain bench/gemm_16.ll "
        self.assertIn(explain + "--stage=ll\n", text)
        self.assertIn(explain + "--stage=schedule --passes=none --isa=avx2\n",
                      text)

    def test_a_refusal_of_one_differs(self):
        self.new_tool(TOOL + "case $2 in agree*) exit 1 ;; esac\n")
        status, text = self.replay("--stages=ll")
        self.assertEqual(status, 1, text)
        self.assertIn("  0: - exit status 0\n  0: + exit status 1\n", text)

    def test_equal_refusals_are_equal(self):
        refusal = "case $2 in agree*) echo no; exit 1 ;; esac\n"
        for build in "old", "new":
            write(self.folder / build / "tool", "#!/bin/sh\n" + refusal + TOOL)
        status, text = self.replay("--stages=ll")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, "3 programs, +1 refused by both, +0 differ")

    def test_nothing_compared_is_no_success(self):
        self.assertEqual(self.replay("--filter=nowhere")[0], 2)
        self.assertEqual(self.replay("--programs=agree,other")[0], 2)
        for build in "old", "new":
            write(self.folder / build / "tool", "#!/bin/sh\necho no\nexit 1\n")
        status, text = self.replay()
        self.assertEqual(status, 2, text)
        self.assertIn("nothing was compiled; the first reason: no", text)

    def test_speed(self):
        status, text = self.replay("--stages=ll", "--speed", "--rounds=2")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"gemm/ +1 workloads +1\.500, 1\.500 gemm/16")


if __name__ == "__main__":
    unittest.main()
