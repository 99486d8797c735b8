#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What steps, predictions and results can do besides computing: reports, the
tuner, generation, operators, copies, and documentation. 11 seconds."""

import copy
import inspect
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

import numpy as np

sys.path.insert(0, os.path.abspath("python"))

import ocannl  # noqa: E402
from ocannl import _native  # noqa: E402

X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
Y = np.array([[0], [1], [1], [0]], np.float32)


def xor_model(**options):
    model = ocannl.Model(**options)
    x, y = model.input("x", "4|2"), model.input("y", "4|1")
    scores = ocannl.mlp(x, [8, 1])
    loss = ocannl.mean_squared_error(scores, y)
    return model, scores, model.train(loss, ocannl.adamw(1e-2))


class FilesTest(unittest.TestCase):

    def test_a_prediction_becomes_an_onnx_file(self):
        """0.3 s."""
        model, scores, step = xor_model()
        for _ in range(50):
            step(x=X, y=Y)
        predict = model.predict(scores, scores * 2)
        path = pathlib.Path(tempfile.mkdtemp()) / "xor.onnx"
        predict.save_onnx(path, ["scores", "twice"])
        loaded = ocannl.onnx.load(path, {"batch": 2})
        self.assertEqual(loaded.inputs, [("x", "f32", (2, 2))])
        found = loaded(x=X[:2])
        for name, expected in zip(("scores", "twice"), predict(x=X[:2])):
            np.testing.assert_allclose(found[name], expected, rtol=1e-6)
        with self.assertRaisesRegex(ocannl.Error, "1 `names` for 2 outputs"):
            predict.save_onnx(path, ["scores"])
        with self.assertRaisesRegex(ocannl.Error, "has no operator for three"):
            model.predict(scores + model.normal()).save_onnx(path)


class ReportsTest(unittest.TestCase):

    def test_profile_is_of_the_handle(self):
        model, scores, step = xor_model(profile=True, tier="x86")
        predict = model.predict(scores * 3)
        for _ in range(50):
            step(x=X, y=Y)
            predict(x=X)
        of_step, of_prediction = step.profile(), predict.profile()
        self.assertIn("nest-0", of_step)
        self.assertIn(".grad", of_step)
        self.assertIn("nest-0", of_prediction)
        self.assertNotIn(".grad", of_prediction)
        self.assertIn("step", model.profile())
        self.assertIn("predict", model.profile())

    def test_reports_beside_errors(self):
        """0.5 s; a lock that both wait for would never end."""
        model, _, step = xor_model()
        end = time.monotonic() + 0.5

        def fail():
            while time.monotonic() < end:
                with self.assertRaises(ocannl.Error):
                    step.load("/nonexistent.npz")

        interval = sys.getswitchinterval()
        self.addCleanup(sys.setswitchinterval, interval)
        sys.setswitchinterval(1e-6)
        other = threading.Thread(target=fail)
        other.start()
        while time.monotonic() < end:
            model.tier_report()
        other.join()

    def test_a_tuning_that_is_killed(self):
        _, _, step = xor_model(tier="x86")
        killed = subprocess.CompletedProcess([], -9, "", "")
        with unittest.mock.patch("subprocess.run", return_value=killed):
            with self.assertRaisesRegex(ocannl.Error, "code -9"):
                step.tune(seconds=1)

    def test_tuning_keeps_the_bits(self):
        model, scores, step = xor_model(tier="x86", threads=1)
        other, _, planned = xor_model(tier="x86", threads=1)
        for _ in range(3):
            last = step(x=X, y=Y)
            planned(x=X, y=Y)
        report = step.tune(seconds=1)
        self.assertIn("the planner's", report)
        self.assertGreater(float(last), 0)  # of a step before the tuning
        for _ in range(3):
            self.assertEqual(float(step(x=X, y=Y)), float(planned(x=X, y=Y)))
        self.assertEqual(model.params_hash(), other.params_hash())
        self.assertEqual(step.count, 6)
        predict = model.predict(scores)
        before = predict(x=X).tolist()
        self.assertIn("nest", predict.tune(seconds=1))
        self.assertEqual(predict(x=X).tolist(), before)

    def test_tiers_and_devices(self):
        self.assertEqual(ocannl.tiers()[0], "interp")
        self.assertEqual(ocannl.device_count("x86"), 1)
        with self.assertRaisesRegex(ocannl.Error, "no tier opencl"):
            ocannl.device_count("opencl")

    def test_notebooks_show_tables(self):
        model, scores, _ = xor_model()
        shown = model._repr_html_()
        self.assertIn("<td>mlp_layer1_w</td><td>2-&gt;8</td><td>f32</td>",
                      shown)
        self.assertIn("<pre>", scores._repr_html_())
        self.assertEqual(repr(model), "<ocannl.Model of 4 parameters>")


class GenerationTest(unittest.TestCase):

    def test_generates_what_whole_predictions_do(self):
        model = ocannl.Model()
        tokens = model.input("tokens", "2,8|", "i32")
        after = model.input("after", "2,8|", "i32")
        logits = ocannl.decoder_only(tokens, vocabulary=11, length=8, layers=1,
                                     size=16, heads=2, hidden=16)
        generate = model.generator(logits, batch=2)
        self.assertEqual(generate([[0], [1]], 3).shape, (2, 3))  # untrained
        step = model.train(
            ocannl.cross_entropy(logits, ocannl.one_hot(after, 11)),
            ocannl.adamw(2e-2))
        ids = np.arange(10, dtype=np.int32)
        for _ in range(60):
            step(tokens=np.stack([ids[:8], ids[1:9]]),
                 after=np.stack([ids[1:9], ids[2:]]))
        predict = model.predict(ocannl.argmax("...|i", logits))
        window = np.zeros((2, 8), np.int32)
        window[:, :2] = [[0, 1], [4, 5]]
        for k in range(2, 8):  # a place costs a whole prediction
            window[:, k] = np.asarray(predict(tokens=window))[:, k - 1]
        np.testing.assert_array_equal(
            np.asarray(generate(window[:, :2], 6)), window[:, 2:])
        drawn = model.generator(logits, temperature=2.0, top_k=4)
        self.assertNotEqual(drawn([[0]], 7).tolist(), drawn([[0]], 7).tolist())
        with self.assertRaisesRegex(ocannl.Error, "must fit 8 places"):
            generate([[0], [1]], 9)
        with self.assertRaisesRegex(ocannl.Error, "batch=0"):
            model.generator(logits, batch=0)


class ResultsTest(unittest.TestCase):

    def test_a_loss_is_a_number(self):
        _, _, step = xor_model()
        loss, again = step(x=X, y=Y), step(x=X, y=Y)
        value = float(loss)
        self.assertEqual(loss + again, value + float(again))
        self.assertEqual(sum([loss, 1]), value + 1)
        self.assertEqual((2 * loss, 1 - loss, loss / 2, -loss, abs(loss)),
                         (2 * value, 1 - value, value / 2, -value, value))
        self.assertTrue(loss > again and loss > 0 and loss == value)
        self.assertEqual((f"{loss:.3f}", round(loss, 2), loss.item()),
                         (f"{value:.3f}", round(value, 2), value))
        self.assertEqual(np.asarray(loss), value)
        self.assertEqual(np.mean([loss, loss]), value)
        self.assertEqual(pickle.loads(pickle.dumps(loss)), value)
        self.assertEqual(len({loss, again}), 2)

    def test_an_array_has_numpys_operators(self):
        array = ocannl.Array([[1, 2], [3, 4]])
        wanted = np.array([[1, 2], [3, 4]], np.float32)
        for found, value in (
                (array + 1, wanted + 1), (2 - array, 2 - wanted),
                (array * array, wanted * wanted), (-array, -wanted),
                (array / wanted, wanted / wanted),
                (array == wanted, wanted == wanted), (array < 3, wanted < 3),
                (array[1:, 0], wanted[1:, 0]), (list(array), list(wanted)),
                (array.numpy(), wanted), (wanted + array, wanted + wanted)):
            np.testing.assert_array_equal(found, value)
        one = ocannl.Array([3])
        self.assertEqual((one.item(), int(one), f"{one:.1f}", bool(one)),
                         (3.0, 3, "3.0", True))
        self.assertEqual(ocannl.Array([2 ** 40], "i64").item(), 2 ** 40)

    def test_arrays_are_copied_and_pickled(self):
        for dtype in ("bool", "i64", "bf16", "f8e5m2", "f32"):
            array = ocannl.Array([[0, 1]], dtype)
            for other in (copy.deepcopy(array), copy.copy(array),
                          pickle.loads(pickle.dumps(array))):
                self.assertEqual(other.dtype, dtype)
                self.assertEqual(other.tolist(), array.tolist())
                self.assertEqual(other.shape, (1, 2))

    def test_memory_is_aligned_for_jax(self):
        model, scores, _ = xor_model()
        arrays = [model.predict(scores)(x=X), model["mlp_layer1_w"],
                  ocannl.Array(X), copy.copy(ocannl.Array(X))]
        self.assertEqual([np.asarray(a).ctypes.data % 64 for a in arrays],
                         [0] * 4)

    def test_dlpack_obeys_its_options(self):
        array = ocannl.Array(X)
        shared = np.from_dlpack(array)
        self.assertEqual(shared.ctypes.data, np.asarray(array).ctypes.data)
        capsule = array.__dlpack__(copy=True, dl_device=(1, 0))
        self.assertIn("dltensor", repr(capsule))
        with self.assertRaises(BufferError):
            array.__dlpack__(dl_device=(2, 0))

    def test_narrow_floats_of_numpy(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        model = ocannl.Model()
        double = model.predict(model.input("x", "2|2", "bf16") * 2)
        values = np.array([[1, 2], [3, 4]], ml_dtypes.bfloat16)
        found = np.asarray(double(x=values))
        self.assertEqual(found.dtype, ml_dtypes.bfloat16)
        np.testing.assert_array_equal(found, values * 2)

    def test_numpy_functions_of_tensors(self):
        model = ocannl.Model()
        x = model.input("x", "2")
        for tensor, wanted in ((np.exp(x), np.exp(X[3])),
                               (np.float32(2) * x, 2 * X[3]),
                               (np.maximum(x, 3), [3, 3]),
                               (np.float64(0) < x, [True, True]),
                               (np.float64(0) > x, [False, False])):
            found = np.asarray(model.predict(tensor)(x=X[3]))
            np.testing.assert_allclose(found, wanted, rtol=1e-6)

    def test_objects_of_array_protocols(self):
        class Frame:  # as a DataFrame of pandas
            def __init__(self, values):
                self.values = values

            def __array__(self, dtype=None, copy=None):
                return self.values

        model = ocannl.Model()
        same = model.predict(model.input("x", "4|2") * 1)
        np.testing.assert_array_equal(same(x=Frame(X)).numpy(), X)
        with self.assertRaisesRegex(ocannl.Error, "an array of object"):
            same(x=Frame(X.astype(object)))


class InterruptTest(unittest.TestCase):

    def test_ctrl_c_ends_a_long_fit(self):
        model, _, step = xor_model()
        timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            ocannl.fit(step, {"x": X, "y": Y}, batch_size=4, epochs=10 ** 9)
        self.assertLess(time.monotonic() - start, 5)
        self.assertGreater(float(step(x=X, y=Y)), 0)


def undocumented():
    """Public names without a docstring, and those whose functions take or give
    tensors but name no shape or notation."""
    for name in ocannl.__all__:
        value = getattr(ocannl, name)
        if not inspect.getdoc(value):
            yield name
        if isinstance(value, type):
            for own, member in vars(value).items():
                is_part = isinstance(member, (types.FunctionType, property))
                if is_part and not own.startswith("_") and not inspect.getdoc(
                        member):
                    yield f"{name}.{own}"


class DocumentationTest(unittest.TestCase):

    def test_public_names_have_docstrings(self):
        self.assertEqual(list(undocumented()), [])

    def test_layers_name_their_shapes(self):
        from ocannl import _blocks, _functions
        for name in _blocks.__all__ + _functions.__all__:
            text = inspect.getdoc(getattr(ocannl, name))
            self.assertRegex(text, r"\S\||shape|broadcast|axes", name)

    def test_stubs_name_what_is_compiled(self):
        stubs = pathlib.Path(_native.__file__).with_name(
            "_native.pyi").read_text(encoding="utf-8")
        for name, value in vars(_native).items():
            if not name.startswith("__"):
                word = "class" if isinstance(value, type) else "def"
                self.assertIn(f"{word} {name}", stubs)


if __name__ == "__main__":
    unittest.main()
