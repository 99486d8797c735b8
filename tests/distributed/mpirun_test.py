#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains in the processes of mpirun, as users do: the bits are those of one
process, and where a process is killed, all end, and the last checkpoint is
whole.

Without mpirun (Debian's openmpi-bin), it says so and does nothing.
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAMS = pathlib.Path("experiments").resolve()
MOONS = [PROGRAMS / "moons_parallel", "--epochs=4", "--len=110",
         "--batch_size=24", "--tier=x86"]
GPT2 = [PROGRAMS / "gpt2_mini", "--examples=60", "--layers=1", "--size=16",
        "--length=8", "--batch_size=12"]
MOST_SECONDS = 10  # from the death of a process to that of all
# Holds a folder for the files of each mpirun. Open MPI names them by process
# numbers, which another sandbox has too. Two that start in the same folder race
# to make the same subfolder. Killed ranks leave files behind.
FOLDERS = tempfile.TemporaryDirectory(prefix="mpi")


def environment(**more):
    names = {name: value for name, value in os.environ.items()
             if not name.startswith("OCANNL_")}
    folder = tempfile.mkdtemp(dir=FOLDERS.name)
    # The processes of one machine need no network, and mpirun no ssh. Those that
    # wait for messages let others run.
    return names | {"OMPI_MCA_plm": "isolated", "OMPI_MCA_btl": "self,vader",
                    "OMPI_MCA_mpi_yield_when_idle": "1",
                    "OMPI_MCA_btl_vader_backing_directory": folder,
                    "TMPDIR": folder} | more


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True,
                          env=environment(**more), timeout=100)


def start(command):
    return subprocess.Popen(command, env=environment(), text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def mpirun(ranks, command):
    return ["mpirun", "-n", str(ranks), "--oversubscribe",
            "--allow-run-as-root", *command, "--distributed=mpi"]


def result(ran):
    """What one rank, and one only, has told last."""
    assert ran.returncode == 0, ran
    results = [line for line in ran.stdout.splitlines() if "RESULT" in line]
    assert len(results) == 1, ran.stdout
    fields = json.loads(results[0].removeprefix("RESULT "))
    fields.pop("ms_per_step", None)
    return fields


def at_once(function, values):
    """What it gives for each, found in threads: mpirun waits a lot."""
    with concurrent.futures.ThreadPoolExecutor() as threads:
        return list(threads.map(function, values))


class MpirunTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_bits_of_one_process(self):
        half = GPT2 + ["--epochs=6", "--dtype=f16", "--shards=6"]
        whole = GPT2 + ["--epochs=2", "--shards=6"]
        overlapped = mpirun(2, whole)[:-1] + ["--distributed=mpi:1"]
        for alone, *others in (
                (MOONS + ["--devices=4"], mpirun(1, MOONS + ["--devices=4"]),
                 mpirun(4, MOONS + ["--devices=4"])),
                (half, mpirun(4, half)),
                (whole, mpirun(4, whole), overlapped)):
            expected, *found = at_once(lambda command: result(run(command)),
                                       [alone, *others])
            self.assertIn(expected.get("shards", expected.get("devices")),
                          (4, 6))
            for other, command in zip(found, others):
                self.assertEqual(other, expected, command)

    def test_a_device_or_shard_in_each_process(self):
        self.assertEqual(result(run(mpirun(3, MOONS)))["devices"], 3)
        command = GPT2[:-1] + ["--epochs=1"]  # batches of 10
        ran = run(mpirun(4, command))
        self.assertEqual(result(ran)["shards"], 4)
        self.assertIn("Batches of 12, for 4 shards.\n", ran.stdout)

    def test_what_is_wrong_is_said(self):
        ran = run(mpirun(3, MOONS + ["--devices=2"]))
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn(": --devices=2 is less than one for each of the 3 "
                      "processes", ran.stderr)
        ran = run(MOONS + ["--distributed=smoke"])
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--distributed=smoke is not mpi", ran.stderr)
        ran = run(MOONS + ["--distributed=mpi:64"])
        self.assertEqual(ran.returncode, 2)
        self.assertIn("merges all gradients at once", ran.stderr)
        ran = run(GPT2 + ["--distributed=mpi:many"])
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--distributed=mpi:many: `many` is no number of KiB",
                      ran.stderr)

    def test_processes_that_share_nothing_are_told_so_once(self):
        command = mpirun(2, GPT2 + ["--epochs=1"])
        ran = run(command[:-1])
        self.assertEqual(ran.stdout.count("RESULT"), 2)
        self.assertEqual(ran.stderr.count("warning: each of the 2 processes"),
                         1)

    def test_ranks_with_other_seeds(self):
        command = mpirun(1, GPT2 + ["--epochs=1"])
        ran = run(command + [":", "-n", "1", *command[5:], "--seed=2"])
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("examples", ran.stderr)
        self.assertIn("start all with the same flags", ran.stderr)
        self.assertNotIn("RESULT", ran.stdout)

    def test_ranks_with_other_dtypes(self):
        command = mpirun(1, GPT2 + ["--epochs=1"])
        ran = run(command + [":", "-n", "1", *command[5:], "--dtype=f16"])
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("start all with the same program and flags", ran.stderr)

    def test_a_trace_of_each_rank(self):
        path = self.folder / "trace.json"
        result(run(mpirun(2, GPT2 + ["--epochs=1", f"--trace={path}",
                                     "--schedule=constant"])))
        for file in path, path.with_name("trace.json.rank1"):
            events = json.loads(file.read_text())
            self.assertGreater(len(events), 10)

    def test_all_stop_where_rank_0_saves(self):
        path = self.folder / "saved.npz"
        # It tells of the first epoch at once, not of the 12,500th.
        command = mpirun(1, GPT2 + ["--epochs=100000", "--verbose"])
        command += [f"--save={path}", ":", "-n", "1", *command[5:]]
        with start(command) as starter:
            while "step=" not in starter.stdout.readline():
                self.assertIsNone(starter.poll())
            os.kill(self.ranks_of(starter)[0], signal.SIGTERM)
            _, errors = starter.communicate(timeout=MOST_SECONDS)
        self.assertIn("saved.npz has what was trained", errors)
        self.assertTrue(path.exists())

    def test_without_the_library(self):
        (self.folder / "libmpi.so.40").touch()  # not to be loaded
        ran = run(MOONS + ["--distributed=mpi"],
                  LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(ran.returncode, 1)
        self.assertIn("install Debian's package openmpi-bin", ran.stderr)

    @contextlib.contextmanager
    def training(self, command, place, checkpoints=1):
        """The process of a command that has so many checkpoints in `place`."""
        with start(command) as starter:
            while len(list(place.glob("step_*.npz"))) < checkpoints:
                if starter.poll() is not None:
                    self.fail(starter.communicate())
                time.sleep(0.01)
            yield starter

    def ranks_of(self, starter):
        """The processes of the ranks, by their numbers."""
        found = {}
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                status = (process / "stat").read_text().rpartition(")")[2]
                if int(status.split()[1]) != starter.pid:
                    continue
                names = (process / "environ").read_text().split("\0")
            except (OSError, ProcessLookupError):
                continue
            for name in names:
                if name.startswith("OMPI_COMM_WORLD_RANK="):
                    found[int(name.partition("=")[2])] = int(process.name)
        return found

    def test_a_killed_rank_ends_all_and_training_goes_on(self):
        train = GPT2 + ["--epochs=12"]
        whole = result(run(train + ["--shards=3"]))

        def kill(victim):
            place = self.folder / f"run_{victim}"
            command = mpirun(3, train + [f"--checkpoints={place}"])
            with self.training(command, place, checkpoints=2) as starter:
                ranks = self.ranks_of(starter)
                self.assertEqual(sorted(ranks), [0, 1, 2])
                killed = time.monotonic()
                os.kill(ranks[victim], signal.SIGKILL)
                printed, _ = starter.communicate(timeout=MOST_SECONDS)
            self.assertNotEqual(starter.returncode, 0)
            self.assertNotIn("RESULT", printed)
            for rank in ranks.values():
                while pathlib.Path(f"/proc/{rank}").exists():
                    self.assertLess(time.monotonic(), killed + MOST_SECONDS)
                    time.sleep(0.01)
            ran = run(command)
            self.assertIn("Goes on at step ", ran.stdout)
            resumed = result(ran)
            self.assertEqual(resumed["params_hash"], whole["params_hash"])
            self.assertEqual(resumed["steps"], whole["steps"])

        at_once(kill, (0, 2))

    def test_a_rank_that_hangs_ends_all_by_its_name(self):
        def stop(victim):
            place = self.folder / f"hangs_{victim}"
            command = mpirun(4, GPT2 + ["--epochs=100000", "--rank_timeout=2",
                                        f"--checkpoints={place}"])
            with self.training(command, place) as starter:
                os.kill(self.ranks_of(starter)[victim], signal.SIGSTOP)
                _, errors = starter.communicate(timeout=3 * MOST_SECONDS)
            self.assertNotEqual(starter.returncode, 0)
            self.assertIn(f"rank {victim} has sent nothing for 2 s", errors)
            for other in {0, 1, 2, 3} - {victim}:
                self.assertNotIn(f"rank {other} has sent", errors)

        at_once(stop, (0, 3))

    def test_suspended_ranks_go_on(self):
        place = self.folder / "suspended"
        command = mpirun(2, GPT2 + ["--epochs=12", "--rank_timeout=1",
                                    f"--checkpoints={place}"])
        with self.training(command, place) as starter:
            ranks = self.ranks_of(starter).values()
            for rank in ranks:
                os.kill(rank, signal.SIGSTOP)
            time.sleep(1.5)  # longer than --rank_timeout
            for rank in ranks:
                os.kill(rank, signal.SIGCONT)
            printed, errors = starter.communicate(timeout=100)
        self.assertEqual(starter.returncode, 0, errors)
        self.assertIn("RESULT", printed)

    def test_a_time_that_is_none(self):
        ran = run(MOONS + ["--distributed=mpi", "--rank_timeout=soon"])
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--rank_timeout=soon is not an integer", ran.stderr)


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun; install openmpi-bin")
    else:
        unittest.main()
