#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C within one compilation, step or prediction: KeyboardInterrupt comes
soon, and the model has the bits that it would have had. 20 seconds."""

import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

sys.path.insert(0, os.path.abspath("python"))

import ocannl  # noqa: E402

X = np.linspace(-1, 1, 64).reshape(4, 16).astype(np.float32)
Y = X.sum(1, keepdims=True)
LAYERS = 600  # 1202 parameters; a step compiles in about a second


def deep(layers=LAYERS, **options):
    model = ocannl.Model(**options)
    h, y = model.input("x", "4|16"), model.input("y", "4|1")
    for _ in range(layers):
        h = h + ocannl.tanh(ocannl.linear(h, 16)) * 0.01
    return model, h, ocannl.mean_squared_error(ocannl.linear(h, 1), y)


class Signal:
    """Sends SIGINT in so many seconds, and holds when that was."""

    def __init__(self, seconds):
        self.time = float("inf")
        threading.Timer(seconds, self.send).start()

    def send(self):
        self.time = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)


class InterruptTest(unittest.TestCase):

    def assertInterrupts(self, work, seconds=0.2):
        sent = Signal(seconds)
        with self.assertRaises(KeyboardInterrupt):
            work()
        # A second, and another one on a machine with much else to do.
        self.assertLess(time.monotonic() - sent.time, 2)

    def test_a_compilation(self):
        model, h, loss = deep(tier="x86")
        start = time.monotonic()
        self.assertInterrupts(lambda: model.train(loss, ocannl.adamw(1e-2)))
        self.assertInterrupts(lambda: model.predict(h)(x=X), 0.05)
        step = model.train(loss, ocannl.adamw(1e-2))
        with_interrupts = time.monotonic() - start
        other, _, same = deep(tier="x86")
        start = time.monotonic()
        planned = other.train(same, ocannl.adamw(1e-2))
        # What was cancelled has not been compiled to its end.
        self.assertLess(with_interrupts, 2 * (time.monotonic() - start) + 2)
        for _ in range(3):
            self.assertEqual(float(step(x=X, y=Y)), float(planned(x=X, y=Y)))
        self.assertEqual(model.params_hash(), other.params_hash())

    def test_every_moment_of_a_compilation(self):
        for tier in ("auto", "x86"):
            model, h, loss = deep(300, tier=tier)
            for k in range(6):
                try:
                    Signal(0.04 * k)
                    model.train(loss, ocannl.adamw(1e-2))
                    time.sleep(5)
                except KeyboardInterrupt:
                    pass
            step = model.train(loss, ocannl.adamw(1e-2))
            other, _, same = deep(300, tier=tier)
            planned = other.train(same, ocannl.adamw(1e-2))
            for _ in range(3):
                self.assertEqual(float(step(x=X, y=Y)),
                                 float(planned(x=X, y=Y)))
            self.assertEqual(model.params_hash(), other.params_hash())
            self.assertNotIn("interpreted", model.tier_report())

    def test_shards_that_are_compiled(self):
        model, _, loss = deep(tier="x86")
        self.assertInterrupts(
            lambda: model.train(loss, ocannl.sgd(0.1), shards=2))

    def test_a_prediction(self):
        model = ocannl.Model(tier="interp")
        x = model.input("x", "800|600")
        sums = model.predict(ocannl.einsum("a|i; b|i => a|b", x, x).sum())
        values = np.ones((800, 600), np.float32)
        self.assertInterrupts(lambda: sums(x=values), 0.5)
        small = model.predict(x.sum())  # comes after what still runs
        self.assertEqual(float(small(x=values)), 480_000)

    def test_a_step_is_whole_or_was_not_made(self):
        models = []
        for _ in range(2):
            model = ocannl.Model(tier="interp")
            x = model.input("x", "1600|500")
            loss = ocannl.square(ocannl.linear(x, 100)).mean()
            models.append((model, model.train(loss, ocannl.sgd(0.1))))
        values = np.ones((1600, 500), np.float32)
        (model, step), (other, whole) = models
        self.assertInterrupts(lambda: float(step(x=values)), 0.3)
        found = model.params_hash()
        self.assertEqual(step.count, 1)
        float(whole(x=values))
        self.assertEqual(found, other.params_hash())
        self.assertEqual(float(step(x=values)), float(whole(x=values)))

    def test_a_model_of_onnx(self):
        model = ocannl.Model()
        x = model.input("x", "800|600")
        sums = model.predict(ocannl.einsum("a|i; b|i => a|b", x, x).sum())
        path = pathlib.Path(tempfile.mkdtemp()) / "sums.onnx"
        sums.save_onnx(path, ["sum"])
        model = ocannl.onnx.load(path, tier="interp")
        values = np.ones((800, 600), np.float32)
        self.assertInterrupts(lambda: model(x=values), 0.5)
        self.assertEqual(float(model(x=values)["sum"]), 384_000_000)

    def test_generation(self):
        model = ocannl.Model(tier="interp")
        tokens = model.input("tokens", "1,256|", "i32")
        logits = ocannl.decoder_only(tokens, vocabulary=50, length=256,
                                     layers=4, size=64, heads=2, hidden=256)
        generate = model.generator(logits)
        first = generate([[1]], 3).tolist()
        self.assertInterrupts(lambda: generate([[1]], 250))
        self.assertEqual(generate([[1]], 3).tolist(), first)


class HandlersTest(unittest.TestCase):

    def handle(self, handler):
        self.addCleanup(signal.signal, signal.SIGINT,
                        signal.signal(signal.SIGINT, handler))

    def test_that_return(self):
        """The compilation goes on, and the handler was called meanwhile."""
        times = []
        self.handle(lambda *_: times.append(time.monotonic()))
        model, _, loss = deep(tier="x86")
        Signal(0.2)
        step = model.train(loss, ocannl.sgd(0.1))
        self.assertEqual(len(times), 1)
        self.assertLess(times[0], time.monotonic())
        self.assertGreater(float(step(x=X, y=Y)), 0)

    def test_that_use_the_model(self):
        seen = []
        model, h, loss = deep(300)

        def use(*_):
            seen.append(len(model))
            seen.append(model.predict(h)(x=X).shape)

        self.handle(use)
        Signal(0.1)
        step = model.train(loss, ocannl.sgd(0.1))
        time.sleep(0.3)
        self.assertEqual(seen, [602, (4, 16)])
        self.assertGreater(float(step(x=X, y=Y)), 0)

    def test_other_threads_wait(self):
        model, h, loss = deep(tier="x86")
        failed = []

        def predict():
            time.sleep(0.1)
            try:
                model.predict(h + 1)(x=X)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=predict) for _ in range(3)]
        for thread in threads:
            thread.start()
        Signal(0.2)
        with self.assertRaises(KeyboardInterrupt):
            model.train(loss, ocannl.sgd(0.1))
            time.sleep(5)
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])


if __name__ == "__main__":
    unittest.main()
