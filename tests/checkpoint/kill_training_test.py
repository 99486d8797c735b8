#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills training at random moments: it ends with the bits and the
losses it would have had.

  TRAINING_KILLS=200 bazel run //tests/checkpoint:kill_training_test

The seed is 1, or that of TRAINING_SEED.
"""

import json
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

MOONS = pathlib.Path("experiments/moons")
KILLS = int(os.environ.get("TRAINING_KILLS", "20"))
SEED = int(os.environ.get("TRAINING_SEED", "1"))
COMMAND = [MOONS, "--tier=interp", "--epochs=10"]


def result(printed):
    """The last line of a training that was not killed."""
    return json.loads(printed.splitlines()[-1].removeprefix("RESULT "))


def main():
    print(f"seed {SEED}")
    moments = random.Random(SEED)
    folder = pathlib.Path(tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
    start = time.monotonic()
    whole = result(subprocess.run(
        COMMAND + [f"--checkpoints={folder / 'whole'}"], check=True,
        capture_output=True, text=True).stdout)
    seconds = time.monotonic() - start
    kills = resumed = 0
    while kills < KILLS:
        place = folder / f"run_{kills}"
        every = moments.choice(["", "7", "2ms"])
        while True:
            child = subprocess.Popen(
                COMMAND + [f"--checkpoints={place}",
                           f"--checkpoint_every={every}"],
                stdout=subprocess.PIPE, text=True)
            try:
                printed, _ = child.communicate(
                    timeout=moments.uniform(0, 1.2 * seconds))
                break
            except subprocess.TimeoutExpired:
                child.kill()
                child.communicate()
                kills += 1
        assert child.returncode == 0, printed
        resumed += "Goes on at step" in printed
        for field in "params_hash", "steps", "first_loss", "final_epoch_loss":
            assert result(printed)[field] == whole[field], (place, field)
        # One more than is kept if that was killed before the oldest went.
        assert len(list(place.glob("step_*.npz"))) <= 4, place
        shutil.rmtree(place)
    print(f"{kills} kills, {resumed} trainings went on: {whole}")
    assert resumed > 0


if __name__ == "__main__":
    main()
