#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The half-moons in Python have the bits that they have in C++: from the same
points and first values, on every tier, and in shards. 15 seconds."""

import os
import pathlib
import subprocess
import sys

import numpy as np

sys.path.insert(0, "python")

import ocannl  # noqa: E402

TEMP = pathlib.Path(os.environ["TEST_TMPDIR"])
HASH = "6c53f72b6a28b7d0"  # of tests/experiments/moons_test.cc
EPOCHS, BATCH = 80, 10


def trained_hash(tier, epochs=EPOCHS, shards=1, threads=0):
    points, labels = np.load(TEMP / "points.npy"), np.load(TEMP / "labels.npy")
    model = ocannl.Model(seed=1, tier=tier, threads=threads)
    x, y = model.input("moons_input", "10|2"), model.input("moons_class",
                                                           "10|1")
    margin = model.parse(
        "relu (1 - (y *. ({w3} * relu ({b2; o=[16]} + ({w2} * "
        "relu ({b1; o=[16]} + ({w1} * x)))))))", x=x, y=y)
    loss = margin.sum() / BATCH
    batches = len(points) // BATCH
    steps = batches * EPOCHS
    rate = 0.1 * (2.0 * steps - model.step_number()) / steps
    step = model.train(loss, ocannl.sgd(rate, weight_decay=1e-4),
                       shards=shards)
    model.load(TEMP / "first.npz")
    for _ in range(epochs):
        for begin in range(0, batches * BATCH, BATCH):
            step(moons_input=points[begin:begin + BATCH],
                 moons_class=labels[begin:begin + BATCH])
    return model.params_hash()


of_shards = subprocess.run(["python/tests/moons_start", TEMP], check=True,
                           capture_output=True, text=True).stdout.strip()
for tier in ("auto", "x86"):
    found = trained_hash(tier)
    assert found == HASH, (tier, found)
assert trained_hash("interp", 2) == trained_hash("auto", 2)
for threads in (1, 2):
    found = trained_hash("auto", shards=2, threads=threads)
    assert found == of_shards, (threads, found, of_shards)
