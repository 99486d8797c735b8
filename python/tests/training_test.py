#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What trainings of everyday have: frozen parameters, rates that a program
sets, layers in narrow floats, and loops that end early or go on. 5 seconds."""

import os
import pathlib
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.abspath("python"))

import ocannl  # noqa: E402

RNG = np.random.default_rng(1)
X = RNG.standard_normal((64, 8)).astype(np.float32)
Y = X[:, :1] - X[:, 1:2]
DATA = {"x": X, "y": Y}


def make(**options):
    """A model of two layers, body and head, its result and its loss."""
    model = ocannl.Model(**options)
    x, y = model.input("x", "16|8"), model.input("y", "16|1")
    if "dtype" in options:
        x = x.to(options["dtype"])
    body = ocannl.tanh(ocannl.linear(x, 16, name="body"))
    net = ocannl.linear(body, 1, name="head").to("f32")
    return model, net, ocannl.mean_squared_error(net, y)


def fit(step, **options):
    return ocannl.fit(step, DATA, batch_size=16, **options)


class FreezeTest(unittest.TestCase):

    def test_frozen_parameters_stay(self):
        model, _, loss = make()
        self.assertEqual(model.freeze("body*"), ["body_w", "body_b"])
        step = model.train(loss, ocannl.adamw(1e-2))
        before = {name: value.tolist() for name, value in model.items()}
        fit(step)
        changed = [name for name in model
                   if model[name].tolist() != before[name]]
        self.assertEqual(changed, ["head_w", "head_b"])
        self.assertEqual(model.unfreeze("*_w"), ["body_b"])
        fit(model.train(loss, ocannl.adamw(1e-2)))
        self.assertNotEqual(model["body_w"].tolist(), before["body_w"])
        self.assertEqual(model["body_b"].tolist(), before["body_b"])

    def test_weights_of_another_model(self):
        base, _, loss = make()
        fit(base.train(loss, ocannl.adamw(1e-2)), epochs=3)
        path = pathlib.Path(tempfile.mkdtemp()) / "base.safetensors"
        base.save(path)
        model, _, loss = make(seed=2)
        model.freeze("body*")
        step = model.train(loss, ocannl.sgd(0.01), shards=2)
        model.load(path, only=["body*"])
        self.assertNotEqual(model["head_w"].tolist(), base["head_w"].tolist())
        means = fit(step, epochs=3)
        self.assertLess(means[-1], means[0])
        self.assertEqual(model["body_w"].tolist(), base["body_w"].tolist())
        self.assertNotEqual(model["head_w"].tolist(), base["head_w"].tolist())

    def test_names_that_are_not_there(self):
        model, _, _ = make()
        with self.assertRaisesRegex(KeyError, "no parameter 'fc'; the model"):
            model.load("base.npz", only=["fc"])
        with self.assertRaisesRegex(TypeError, "`only` is 'fc', a str, but a"):
            model.load("base.npz", only="fc")
        with self.assertRaisesRegex(KeyError, "no parameter 'conv\\*'; the mo"):
            model.freeze("conv*")
        with self.assertRaisesRegex(ocannl.Error, "need names of parameters"):
            model.unfreeze()
        with self.assertRaisesRegex(TypeError, "`names` is 3, an int, but a s"):
            model.freeze(3)


class RateTest(unittest.TestCase):

    def test_a_rate_that_each_call_gives(self):
        model, _, loss = make()
        step = model.train(loss, ocannl.sgd(model.input("rate", "1")))
        first = model.params_hash()
        step(x=X[:16], y=Y[:16], rate=[0.0])
        self.assertEqual(model.params_hash(), first)
        step(x=X[:16], y=Y[:16], rate=[0.1])
        other, _, loss = make()
        other.train(loss, ocannl.sgd(0.1))(x=X[:16], y=Y[:16])
        self.assertEqual(model.params_hash(), other.params_hash())
        with self.assertRaisesRegex(TypeError, "needs the input `rate`"):
            step(x=X[:16], y=Y[:16])
        with self.assertRaisesRegex(ocannl.Error, "rate of a step of several"):
            other.train(loss, ocannl.sgd(other.input("rate", "1")), shards=2)


class NarrowTest(unittest.TestCase):

    def test_layers_compute_in_bf16_and_keep_f32(self):
        model, net, loss = make(dtype="bf16")
        step = model.train(loss, ocannl.adamw(1e-2))
        means = fit(step, epochs=20)
        self.assertLess(means[-1], means[0] / 4)
        self.assertEqual({value.dtype for value in model.values()}, {"f32"})
        wide, own, loss = make()
        fit(wide.train(loss, ocannl.adamw(1e-2)), epochs=20)
        self.assertNotEqual(model.params_hash(), wide.params_hash())
        for name in model:  # small updates are not lost
            np.testing.assert_allclose(model[name], wide[name], atol=0.1)

    def test_gradients_that_f16_would_round_to_zero(self):
        for options in {}, {"shards": 2}:
            model, _, loss = make(dtype="f16")
            step = model.train(loss * 1e-9, ocannl.sgd(1e8), **options)
            means = fit(step, epochs=10)
            self.assertLess(means[-1], means[0] / 4)
            self.assertNotIn("loss_scale", list(model))
            before = model.params_hash()
            step(x=X[:16], y=Y[:16] * np.inf)  # is skipped
            self.assertEqual(model.params_hash(), before)
            again = model.train(loss, ocannl.adamw(1e-2), **options)
            fit(again)
            self.assertNotEqual(model.params_hash(), before)

    def test_the_scale_of_the_loss_goes_on_from_a_file(self):
        path = pathlib.Path(tempfile.mkdtemp()) / "step.npz"
        hashes = []
        for first, second in (0, 4), (2, 2):
            model, _, loss = make(dtype="f16", seed=3)
            step = model.train(loss * 1e9, ocannl.adamw(1e-2))
            if first:
                step.load(path)
            for k in range(second):
                step(x=X[:16] + k + first, y=Y[:16])
                if k == 1 and not first:
                    step.save(path)
            hashes.append(model.params_hash())
        self.assertEqual(hashes[0], hashes[1])

    def test_a_language_model(self):
        model = ocannl.Model(dtype="bf16")
        tokens = model.input("tokens", "1,8|", "i32")
        logits = ocannl.decoder_only(tokens, vocabulary=5, length=8, layers=1,
                                     size=8, heads=2, hidden=8)
        self.assertEqual(logits.dtype, "bf16")
        self.assertEqual(model.generator(logits)([[1]], 4).shape, (1, 4))
        with self.assertRaisesRegex(ocannl.Error, "\"half\" is not a dtype"):
            ocannl.Model(dtype="half")


class FitTest(unittest.TestCase):

    def test_goes_on_with_the_same_bits(self):
        whole, _, loss = make()
        means = fit(whole.train(loss, ocannl.adamw(1e-2)), epochs=5)
        first, _, loss = make()
        step = first.train(loss, ocannl.adamw(1e-2))
        fit(step, epochs=2)
        path = pathlib.Path(tempfile.mkdtemp()) / "step.npz"
        step.save(path)
        other, _, loss = make()
        step = other.train(loss, ocannl.adamw(1e-2))
        step.load(path)
        epochs = []
        rest = fit(step, epochs=3, first_epoch=2,
                   after_epoch=lambda n, mean: epochs.append(n))
        self.assertEqual((rest, epochs), (means[2:], [2, 3, 4]))
        self.assertEqual(other.params_hash(), whole.params_hash())

    def test_ends_when_it_is_told_to(self):
        for told in (False, np.bool_(False)):
            _, _, loss = model = make()
            step = model[0].train(loss, ocannl.sgd(0.01))
            means = fit(step, epochs=9,
                        after_epoch=lambda n, mean, told=told: n < 2 or told)
            self.assertEqual(len(means), 3)
        for other in (None, 0.0, "no"):
            means = fit(step, epochs=2, after_epoch=lambda n, mean: other)
            self.assertEqual(len(means), 2)
        with self.assertRaisesRegex(ocannl.Error, "first_epoch=-1; give 0"):
            fit(step, first_epoch=-1)


if __name__ == "__main__":
    unittest.main()
