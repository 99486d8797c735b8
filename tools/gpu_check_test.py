#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs tools/gpu_check.sh over programs that pretend to have a GPU."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path("tools/gpu_check.sh").resolve()

TOOL = """\
case "$1" in
  eval) echo 'cuda: "a GPU"'; exit NO_GPU ;;
  fuzz) echo "seed 1, 5 programs in 2 s: $*" ;;
esac
"""
TRAINING = 'echo "RESULT {\\"params_hash\\": \\"abcd\\"}"; echo report >&2\n'
BENCH = "echo '{\"program\": \"gemm\", \"ms\": 1}'\necho '{\"program\": \"map\"}'\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)


class GpuCheckTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.pack = self.folder / "pack"
        write(self.pack / "ocannl", TOOL.replace("NO_GPU", "0"))
        for name in ("moons", "moons_parallel", "lenet", "cifar_conv",
                     "gpt2_mini"):
            write(self.pack / name, TRAINING)
        write(self.pack / "bench_programs", BENCH)
        for program in "agree/sum.ll", "agree/gpu_sum.ll", "bench/map.ll":
            write(self.pack / program, "")
        (self.pack / "commit").write_text("0123\n", encoding="utf-8")
        write(self.folder / "bin/compute-sanitizer",
              "echo '========= ERROR SUMMARY: 0 errors'\n")
        write(self.folder / "bin/python3", "exit 1\n")  # no PyTorch

    def check(self, *limit):
        """Exit status, the JSON, and its steps by name."""
        path = f"{self.folder / 'bin'}:{os.environ['PATH']}"
        result = subprocess.run(
            ["bash", SCRIPT, "run", self.pack, self.folder / "out", *limit],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "PATH": path})
        report = json.loads(
            (self.folder / "out/gpu_check.json").read_text(encoding="utf-8"))
        return result.returncode, report, {
            step["step"]: step for step in report["steps"]}

    def test_every_step_runs(self):
        status, report, steps = self.check()
        self.assertEqual(status, 0, report)
        self.assertEqual(report["commit"], "0123")
        self.assertEqual(report["device"], 'cuda: "a GPU"')
        self.assertEqual([line["program"] for line in report["bench"]],
                         ["gemm", "map"])
        self.assertEqual(report["torch"], [])
        self.assertEqual(
            [name for name, step in steps.items() if step["status"] != "pass"],
            ["torch"])
        self.assertEqual(steps["agree"]["detail"], "2 programs, 0 fail")
        processes = len(os.sched_getaffinity(0))
        self.assertIn(f"{5 * processes} programs agree",
                      steps["fuzz"]["detail"])
        self.assertIn("--seconds=150",
                      (self.folder / "out/fuzz-1000000.txt").read_text())
        self.assertEqual(len(report["trainings"]), 15)
        self.assertIn("abcd twice, as x86", steps["lenet"]["detail"])

    def test_no_gpu(self):
        write(self.pack / "ocannl", TOOL.replace("NO_GPU", "1"))
        status, report, steps = self.check()
        self.assertEqual(status, 3, report)
        self.assertEqual({step["status"] for step in steps.values()},
                         {"not run"})

    def test_failures(self):
        write(self.pack / "ocannl", TOOL.replace("NO_GPU", "0") +
              'case "$2" in *sum.ll) exit 1 ;; esac\n')
        write(self.pack / "lenet",
              TRAINING.replace("abcd", '$(echo "$*" | tr -cd ux)'))
        write(self.folder / "bin/compute-sanitizer", "exit 9\n")
        write(self.pack / "bench_programs", "echo '{\"error\": \"no\"}'\n")
        status, report, steps = self.check()
        self.assertEqual(status, 1, report)
        self.assertEqual(
            {name for name, step in steps.items() if step["status"] == "fail"},
            {"agree", "memcheck", "racecheck", "synccheck", "lenet", "bench"})
        self.assertIn("2 programs, 2 fail", steps["agree"]["detail"])

    def test_sanitizers_that_see_no_process(self):
        write(self.folder / "bin/compute-sanitizer", "exit 0\n")
        status, _, steps = self.check()
        self.assertEqual(status, 1)
        self.assertEqual(steps["racecheck"]["status"], "fail")

    def test_a_benchmark_that_dies(self):
        write(self.pack / "bench_programs", "kill -SEGV $$\n")
        status, report, steps = self.check()
        self.assertEqual(status, 1, report)
        self.assertEqual(steps["bench"]["status"], "fail")

    def test_a_step_that_hangs(self):
        write(self.pack / "gpt2_mini", "exec sleep 60\n")
        status, _, steps = self.check("2")
        self.assertEqual(status, 1)
        self.assertEqual(steps["gpt2_mini"]["status"], "fail")
        self.assertLess(steps["gpt2_mini"]["seconds"], 30)
        self.assertEqual(steps["bench"]["status"], "pass")


if __name__ == "__main__":
    unittest.main()
