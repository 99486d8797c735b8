#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of several shards of a batch: what a step of the whole computes, the
same bits with any number of threads, and what cannot be divided. 5 seconds."""

import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.abspath("python"))

import ocannl  # noqa: E402

RNG = np.random.default_rng(1)
X = RNG.standard_normal((8, 3)).astype(np.float32)
Y = X.sum(1, keepdims=True)


def make(shards=1, *, threads=0, rate=0.0, norm=False, reduction="mean"):
    """A model, its network and its step, of inputs x and y."""
    model = ocannl.Model(threads=threads)
    x, y = model.input("x", "8|3"), model.input("y", "8|1")
    hidden = ocannl.relu(ocannl.linear(x, 16))
    if norm:
        hidden = ocannl.batch_norm(hidden)
    if rate:
        hidden = ocannl.dropout(hidden, rate)
    net = ocannl.linear(hidden, 1)
    error = ocannl.square(net - y)
    loss = error.mean() if reduction == "mean" else error.sum()
    optimiser = ocannl.adamw(ocannl.cosine(1e-2, 1e-3, steps=30)).clipped(1.0)
    return model, net, model.train(loss, optimiser, shards=shards,
                                   reduction=reduction)


def train(step, count=10):
    return [float(step(x=X, y=Y)) for _ in range(count)]


class ShardsTest(unittest.TestCase):

    def test_shards_train_as_the_batch_does(self):
        for reduction in ("mean", "sum"):
            model, net, step = make(reduction=reduction)
            losses, values = train(step), model.predict(net)(x=X)
            for shards in (2, 4, 8):
                other, own, step = make(shards, reduction=reduction)
                np.testing.assert_allclose(train(step), losses, rtol=1e-4)
                np.testing.assert_allclose(other.predict(own)(x=X), values,
                                           atol=1e-4)

    def test_threads_do_not_change_bits(self):
        found = []
        for threads in (1, 2, 3):
            model, net, step = make(4, threads=threads, rate=0.3, norm=True)
            found.append((train(step), model.params_hash(),
                          model.predict(net)(x=X).tolist()))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[0], found[2])
        self.assertLess(found[0][0][-1], found[0][0][0])

    def test_shards_draw_their_own_numbers(self):
        """Those of one shard count as positive, and of the other as negative:
        equal ones would be 0 together."""
        signs = np.concatenate([np.ones((1, 500)), -np.ones((1, 500))])
        for draw in (lambda model, x: model.uniform() * x,
                     lambda model, x: ocannl.dropout(x, 0.5)):
            model = ocannl.Model()
            x = model.input("x", "2|500")
            w = model.parse("{w = 1; o=[1]}")
            loss = (draw(model, x).mean() * w).sum()
            step = model.train(loss, ocannl.sgd(0.0), shards=2)
            drawn = [float(step(x=signs.astype(np.float32))) for _ in range(3)]
            self.assertEqual(len({0.0, *drawn}), 4, drawn)

    def test_goes_on_from_a_file(self):
        model, _, step = make(2, rate=0.1, norm=True)
        train(step, 5)
        path = pathlib.Path(tempfile.mkdtemp()) / "step.npz"
        step.save(path)
        rest = train(step, 5)
        other, _, again = make(2, rate=0.1, norm=True)
        again.load(path)
        self.assertEqual(again.count, 5)
        self.assertEqual(train(again, 5), rest)
        self.assertEqual(other.params_hash(), model.params_hash())

    def test_parameters_are_the_models(self):
        model, net, step = make(2)
        w = np.full((16, 3), 0.5, np.float32)
        model["linear_w"] = w
        before = model.predict(net)(x=X).tolist()
        train(step, 1)
        self.assertTrue((model["linear_w"] != w).any())
        model["linear_w"] = w
        step(x=X, y=Y)
        self.assertTrue((model["linear_w"] != w).any())
        self.assertNotEqual(model.predict(net)(x=X).tolist(), before)

    def test_fit_and_inputs_without_a_batch(self):
        model = ocannl.Model()
        x, scale = model.input("x", "8|3"), model.input("scale", "3")
        loss = ocannl.square(ocannl.linear(x * scale, 1) - 1).mean()
        step = model.train(loss, ocannl.sgd(0.01), shards=4)
        first = float(step(x=X, scale=[1, 1, 1]))
        for _ in range(20):
            last = step(x=X, scale=[1, 1, 1])
        self.assertLess(float(last), first)
        _, _, step = make(2)
        means = ocannl.fit(step, {"x": X, "y": Y}, batch_size=8, epochs=3)
        self.assertLess(means[-1], means[0])

    def test_what_cannot_be_divided(self):
        for shards, message in (
                (3, "`x` has a batch of 8, which 3 shards do not divide; give "
                    "1, 2, 4, 8, or another batch"),
                (0, "shards=0; give 1 to"), (-1, "shards=-1")):
            with self.assertRaisesRegex(ocannl.Error, message):
                make(shards)
        model = ocannl.Model()
        x, y = model.input("x", "8|3"), model.input("y", "4|3")
        one = model.input("one", "3")
        sums = [ocannl.linear(each, 1).sum() for each in (x, y, one)]
        with self.assertRaisesRegex(ocannl.Error, "'x': 8, 'y': 4.*all the sa"):
            model.train(sums[0] + sums[1], ocannl.sgd(0.1), shards=2)
        with self.assertRaisesRegex(ocannl.Error, "no input has one; declare"):
            model.train(sums[2], ocannl.sgd(0.1), shards=2)
        with self.assertRaisesRegex(ocannl.Error, "reduction='max'; give"):
            model.train(sums[0], ocannl.sgd(0.1), shards=2, reduction="max")
        step = model.train(sums[0], ocannl.sgd(0.1), shards=2)
        with self.assertRaisesRegex(ocannl.Error, "give 8 examples"):
            step(x=X[:4])
        for call in (step.explain, step.profile, step.tune):
            with self.assertRaisesRegex(ocannl.Error, "a program for each"):
                call()


if __name__ == "__main__":
    unittest.main()
