#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module: what a user of NumPy and PyTorch would try. 20 seconds."""

import array
import ctypes
import inspect
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

sys.path.insert(0, "python")

import ocannl  # noqa: E402
from ocannl import _functions, _native  # noqa: E402

TEMP = pathlib.Path(os.environ.get("TEST_TMPDIR") or tempfile.mkdtemp())
XOR_X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
XOR_Y = np.array([[0], [1], [1], [0]], np.float32)
# Operations that have operators, or that Python reaches by other functions.
NO_FUNCTION = {
    "+", "-", "*", "/", "%", "neg", "min", "max", "<", "<=", "==", "!=",
    "select", "&", "|", "^", "not", "<<", ">>", "rotl", "convert", "bitcast",
    "relu_gate", "sat01_gate", "mul3", "threefry_light", "threefry_crypto"}


def xor_model(optimiser=None, **options):
    model = ocannl.Model(**options)
    x, y = model.input("x", "4|2"), model.input("y", "4|1")
    scores = ocannl.mlp(x, [8, 1])
    step = model.train(ocannl.mean_squared_error(scores, y),
                       optimiser or ocannl.sgd(0.1))
    return model, scores, step


def value_of(model, tensor, **inputs):
    return np.asarray(model.predict(tensor)(**inputs))


class TrainingTest(unittest.TestCase):

    def test_learns_xor(self):
        model, scores, step = xor_model()
        for _ in range(500):
            loss = step(x=XOR_X, y=XOR_Y)
        self.assertLess(float(loss), 1e-3)
        found = value_of(model, scores, x=XOR_X)
        np.testing.assert_allclose(found, XOR_Y, atol=0.1)

    def test_tiers_have_the_same_bits(self):
        hashes = set()
        for tier in ("interp", "x86", "auto"):
            model, _, step = xor_model(ocannl.adamw(1e-2), tier=tier)
            for _ in range(20):
                step(x=XOR_X, y=XOR_Y)
            hashes.add(model.params_hash())
        self.assertEqual(len(hashes), 1)

    def test_loss_is_of_its_own_step(self):
        _, _, step = xor_model()
        handles = [step(x=XOR_X, y=XOR_Y) for _ in range(5)]
        _, _, again = xor_model()
        losses = [float(again(x=XOR_X, y=XOR_Y)) for _ in range(5)]
        self.assertEqual([float(handle) for handle in handles], losses)
        self.assertEqual(len(set(losses)), 5)

    def test_inputs_are_copied(self):
        _, _, step = xor_model()
        x = XOR_X.copy()
        first = step(x=x, y=XOR_Y)
        x[:] = 100
        _, _, again = xor_model()
        self.assertEqual(float(first), float(again(x=XOR_X, y=XOR_Y)))

    def test_two_trainings_of_one_loss(self):
        model, scores, step = xor_model()
        slow = model.train(
            ocannl.mean_squared_error(scores, model.input("z", "4|1")),
            ocannl.sgd(1e-3))
        before = float(step(x=XOR_X, y=XOR_Y))
        after = float(slow(x=XOR_X, z=XOR_Y))
        self.assertLess(after, before)
        self.assertEqual((step.count, slow.count), (1, 1))

    def test_schedules_follow_the_steps(self):
        rates = {}
        for name, rate in {
                "constant": ocannl.constant(0.5, warmup=4),
                "cosine": ocannl.cosine(0.5, 0.1, steps=4),
                "linear": ocannl.linear_rate(0.5, 0.1, steps=4)}.items():
            model = ocannl.Model()
            w = model.parse("{w; o=[1]}")
            step = model.train(w.sum(), ocannl.sgd(rate))
            model["w"] = [0.0]
            values = [0.0]
            for _ in range(5):
                step()
                values.append(np.asarray(model["w"])[0])
            rates[name] = -np.diff(values)
        np.testing.assert_allclose(rates["constant"],
                                   [.125, .25, .375, .5, .5], rtol=1e-5)
        np.testing.assert_allclose(rates["linear"], [.5, .4, .3, .2, .1],
                                   rtol=1e-5)
        half = [0.1 + 0.2 * (1 + math.cos(math.pi * k / 4)) for k in range(5)]
        np.testing.assert_allclose(rates["cosine"], half, rtol=1e-5)

    def test_a_rate_may_be_an_expression(self):
        model = ocannl.Model()
        w = model.parse("{w; o=[1]}")
        step = model.train(w.sum(),
                           ocannl.sgd(1.0 / (1 + model.step_number())))
        model["w"] = [0.0]
        step()
        step()
        np.testing.assert_allclose(np.asarray(model["w"]), [-1.5])

    def test_optimisers_run(self):
        for make in (ocannl.sgd, ocannl.adam, ocannl.adamw, ocannl.rmsprop,
                     ocannl.lion):
            _, _, step = xor_model(make(1e-2).clipped(1.0))
            first = float(step(x=XOR_X, y=XOR_Y))
            for _ in range(30):
                last = step(x=XOR_X, y=XOR_Y)
            self.assertLess(float(last), first, make.__name__)

    def test_saved_training_goes_on_with_the_same_bits(self):
        path = TEMP / "state.npz"
        model, _, step = xor_model(
            ocannl.adamw(ocannl.cosine(0.1, 0.01, steps=10)))
        for k in range(10):
            if k == 5:
                step.save(path)
            step(x=XOR_X, y=XOR_Y)
        other, _, again = xor_model(
            ocannl.adamw(ocannl.cosine(0.1, 0.01, steps=10)), seed=9)
        again.load(path)
        self.assertEqual(again.count, 5)
        for _ in range(5):
            again(x=XOR_X, y=XOR_Y)
        self.assertEqual(model.params_hash(), other.params_hash())

    def test_texts_name_tensors_with_dots(self):
        model = ocannl.Model()
        x = model.input("x", "2|1")
        (x * 3).named("u.v")
        predict = model.predict(model.parse("u.v + 1"))
        self.assertEqual(predict(x=[[1.0], [2.0]]).tolist(), [[4.0], [7.0]])

    def test_parameters_of_pytorch(self):
        path = TEMP / "torch.npz"
        model = ocannl.Model()
        x = model.input("x", "2|5,5,3")
        scores = ocannl.linear(ocannl.conv2d(x, 4, name="conv"), 6, name="fc")
        predict = model.predict(scores)
        images = np.ones((2, 5, 5, 3), np.float32)
        predict(x=images)
        ours = {name: np.array(value) for name, value in model.items()}
        expected = np.array(predict(x=images))
        # [out, in, height, width], and a Linear of channels, rows, columns.
        theirs = {"conv.weight": ours["conv_w"].transpose(0, 3, 1, 2),
                  "conv.bias": ours["conv_b"],
                  "fc.weight": ours["fc_w"].transpose(0, 3, 1, 2).reshape(6, -1),
                  "fc.bias": ours["fc_b"]}
        np.savez(path, **{name: value.astype(np.float64)
                          for name, value in theirs.items()})
        for name, value in ours.items():
            model[name] = np.zeros_like(value)
        model.load(path, layout="pytorch", convert=True, rename=[])
        for name, value in ours.items():
            np.testing.assert_array_equal(np.array(model[name]), value)
        np.testing.assert_array_equal(np.array(predict(x=images)), expected)
        with self.assertRaisesRegex(ocannl.Error, "give layout='pytorch'"):
            model.load(path, convert=True, rename=[])
        model.save(path)
        with self.assertRaisesRegex(ocannl.Error, "give layout='ocannl'"):
            model.load(path, layout="pytorch")

    def test_fit(self):
        rng = np.random.default_rng(1)
        x = rng.standard_normal((103, 2)).astype(np.float32)
        y = (x[:, :1] * x[:, 1:] > 0).astype(np.float32)
        model = ocannl.Model()
        scores = ocannl.mlp(model.input("x", "10|2"), [16, 1])
        loss = ocannl.mean_squared_error(scores, model.input("y", "10|1"))
        step = model.train(loss, ocannl.adam(1e-2))
        seen = []
        losses = ocannl.fit(step, {"x": x, "y": y}, batch_size=10, epochs=30,
                            after_epoch=lambda n, mean: seen.append(n))
        self.assertEqual((seen, step.count), (list(range(30)), 300))
        self.assertLess(losses[-1], losses[0] / 3)


class PredictionTest(unittest.TestCase):

    def test_any_batch_has_the_same_rows(self):
        model, scores, _ = xor_model()
        predict = model.predict(scores)
        whole = np.asarray(predict(x=XOR_X))
        for k in range(4):
            np.testing.assert_array_equal(
                np.asarray(predict(x=XOR_X[k:k + 1])), whole[k:k + 1])
        np.testing.assert_array_equal(np.asarray(predict(x=XOR_X[1])), whole[1])
        many = np.asarray(predict(x=np.tile(XOR_X, (5, 1))))
        np.testing.assert_array_equal(many, np.tile(whole, (5, 1)))

    def test_several_outputs(self):
        model, scores, _ = xor_model()
        shared = ocannl.relu(scores)
        a, b, c = model.predict(scores, shared, scores * 2 + shared)(x=XOR_X)
        a, b, c = map(np.asarray, (a, b, c))
        np.testing.assert_array_equal(b, np.maximum(a, 0))
        np.testing.assert_array_equal(c, a * 2 + b)

    def test_an_input_and_a_parameter_are_outputs(self):
        model = ocannl.Model()
        x = model.input("x", "4|2")
        w = model.parse("{w = 3; o=[2]}")
        given, sum_of = model.predict(x, x + w)(x=np.ones((4, 2), np.float32))
        np.testing.assert_array_equal(np.asarray(given), 1)
        np.testing.assert_array_equal(np.asarray(sum_of), 4)
        np.testing.assert_array_equal(np.asarray(model.predict(w)()), 3)

    def test_outputs_may_be_inputs_or_repeated(self):
        model, scores, _ = xor_model()
        x = model.input("x", "4|2")
        np.testing.assert_array_equal(value_of(model, x, x=XOR_X), XOR_X)
        a, b, c = model.predict(scores, scores * 2, scores)(x=XOR_X)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(c))
        np.testing.assert_array_equal(np.asarray(b), np.asarray(a) * 2)

    def test_names_may_change_later(self):
        _, _, again = xor_model()
        model = ocannl.Model()
        x, y = model.input("x", "4|2"), model.input("y", "4|1")
        loss = ocannl.mean_squared_error(ocannl.mlp(x, [8, 1]), y)
        step = model.train(loss, ocannl.sgd(0.1))
        loss.named("another")
        self.assertEqual(float(step(x=XOR_X, y=XOR_Y)),
                         float(again(x=XOR_X, y=XOR_Y)))

    def test_dropout_and_batch_norm_know_of_training(self):
        model = ocannl.Model()
        x = model.input("x", "64|8")
        kept = ocannl.dropout(x, 0.5)
        np.testing.assert_array_equal(
            value_of(model, kept, x=np.ones((64, 8), np.float32)), 1)
        normal = ocannl.batch_norm(x, name="norm")
        step = model.train((normal * model.parse("{w; o=[8]}")).sum(),
                           ocannl.sgd(0.0))
        values = np.random.default_rng(2).normal(
            5, 3, (64, 8)).astype(np.float32)
        for _ in range(200):
            step(x=values)
        found = value_of(model, normal, x=values)
        self.assertLess(abs(found.mean()), 0.02)
        self.assertLess(abs(found.std() - 1), 0.02)
        np.testing.assert_allclose(np.asarray(model["norm_running_mean"]),
                                   values.mean(0), rtol=1e-4)

    def test_a_step_updates_only_what_its_loss_uses(self):
        model = ocannl.Model()
        body = ocannl.relu(ocannl.linear(model.input("x", "4|2"), 3))
        normal = ocannl.linear(ocannl.batch_norm(body, name="norm"), 1)
        plain = ocannl.linear(body, 1)
        step = model.train(plain.sum(), ocannl.sgd(0.0))
        other = model.train(normal.sum(), ocannl.sgd(0.0))
        step(x=XOR_X)
        np.testing.assert_array_equal(model["norm_running_mean"].numpy(), 0)
        other(x=XOR_X + 1)
        self.assertGreater(model["norm_running_mean"].numpy().max(), 0)

    def test_parameters_of_a_text_are_shared_by_all_batches(self):
        model = ocannl.Model()
        x = model.input("x", "3|2")
        y = model.parse("relu ({w} * x + {b; o=[4]})", x=x)
        predict = model.predict(y)
        whole = np.asarray(predict(x=np.ones((3, 2), np.float32)))
        one = np.asarray(predict(x=np.ones((1, 2), np.float32)))
        np.testing.assert_array_equal(one[0], whole[0])
        self.assertEqual(list(model), ["w", "b"])

    def test_texts_name_tensors_of_the_model(self):
        model = ocannl.Model()
        model.input("x", "4|2")
        hidden = model.parse("relu ({w; o=[3]} * x)").named("hidden")
        y = model.parse("hidden + 1")
        step = model.train(y.sum(), ocannl.sgd(0.0))
        step(x=XOR_X + 5)
        predict = model.predict(y)
        for x in (XOR_X, XOR_X[:1]):  # not those of the step
            np.testing.assert_array_equal(
                np.asarray(predict(x=x)),
                value_of(model, hidden, x=x) + np.float32(1))
        axis = model.parse('hidden ++ "b|x => b|0"')
        self.assertEqual(value_of(model, axis, x=XOR_X).shape, (4, 1))

    def test_decoder(self):
        model = ocannl.Model()
        tokens = model.input("tokens", "2,6|", "i32")
        logits = ocannl.decoder_only(
            tokens, vocabulary=11, length=6, layers=1, size=8, heads=2,
            hidden=16, name="lm")
        self.assertEqual(logits.rows, "2,6|11")
        loss = ocannl.cross_entropy(logits, ocannl.one_hot(tokens, 11))
        step = model.train(loss, ocannl.adamw(1e-2))
        ids = np.arange(12, dtype=np.int32).reshape(2, 6) % 11
        first = float(step(tokens=ids))
        for _ in range(40):
            last = float(step(tokens=ids))
        self.assertLess(last, first / 2)


class OperationsTest(unittest.TestCase):

    def test_each_operation_has_a_function(self):
        named = {name for name, value in vars(_functions).items()
                 if callable(value)}
        operations = {name for name, _ in _native.operations()}
        self.assertEqual(operations - NO_FUNCTION - named, set())
        self.assertEqual(NO_FUNCTION - operations, set())

    def test_functions_equal_numpy(self):
        model = ocannl.Model()
        a, b = model.input("a", "5"), model.input("b", "5")
        values = np.array([0.25, 0.5, 0.75, 0.9, 0.99], np.float32)
        others = np.array([2, 0.5, 3, 0.25, 1], np.float32)
        for name in ("sqrt", "exp", "log", "sin", "cos", "tan", "tanh",
                     "floor", "ceil", "square", "log1p", "expm1", "cbrt"):
            found = value_of(model, getattr(ocannl, name)(a), a=values)
            np.testing.assert_allclose(found, getattr(np, name)(values),
                                       rtol=1e-6, err_msg=name)
        for found, wanted in (
                (a + b, values + others), (a - b, values - others),
                (a * b, values * others), (a / b, values / others),
                (a % b, np.fmod(values, others)), (a ** b, values ** others),
                (1 - a + 0 * b, 1 - values), (2 / a + 0 * b, 2 / values),
                (-a + 0 * b, -values), (ocannl.maximum(a, b),
                                        np.maximum(values, others)),
                (ocannl.where(a > b, a, b), np.maximum(values, others)),
                (ocannl.where(a >= b, 1.0, 0.0 * a),
                 (values >= others).astype(np.float32))):
            np.testing.assert_allclose(
                value_of(model, found, a=values, b=others), wanted, rtol=1e-6)

    def test_sums_and_indexing(self):
        model = ocannl.Model()
        x = model.input("x", "2|3")
        values = np.arange(6, dtype=np.float32).reshape(2, 3)
        for found, wanted in (
                (x.sum(), 15), (x.mean(), 2.5),
                (x.sum("b|i => b|"), [3, 12]), (x.max("b|i => b|"), [2, 5]),
                (ocannl.einsum("b|i => b|i", x), values),
                (ocannl.argmax("...|i", x), [2, 2]),
                (ocannl.argmin("...|i", x), [0, 0]),
                (ocannl.cumsum("...|i", x), values.cumsum(1)),
                (ocannl.part("...|i", x, 1, 2), values[:, 1:]),
                (ocannl.softmax("...|i => ...|0", x * 0), values * 0 + 1 / 3),
                (x.reshape("|_"), values.ravel()),
                (x.to("i32"), values.astype(np.int32))):
            np.testing.assert_allclose(value_of(model, found, x=values), wanted)
        ids = model.input("ids", "2|", "i32")
        hot = value_of(model, ocannl.one_hot(ids, 3),
                       ids=np.array([2, 0], np.int32))
        np.testing.assert_array_equal(hot, [[0, 0, 1], [1, 0, 0]])

    def test_numbers_of_numpy(self):
        model = ocannl.Model()
        x = model.input("x", "2")
        for number in (np.float32(2), np.int64(2), np.array(2.0), 2):
            np.testing.assert_array_equal(
                value_of(model, x * number, x=[1, 3]), [2, 6])
        np.testing.assert_array_equal(
            value_of(model, x * np.bool_(True), x=[1, 3]), [1, 3])

    def test_tensors_look_like_expressions(self):
        model = ocannl.Model()
        x = model.input("x", "2|3")
        y = ocannl.relu(x * 2)
        self.assertIn("relu", repr(y))
        self.assertIn("<pre>", y._repr_html_())
        self.assertEqual((x.rows, x.shape, x.dtype), ("2|3", (2, 3), "f32"))
        self.assertEqual(len({x, y, x}), 2)

    def test_every_stage_is_text(self):
        model, scores, step = xor_model()
        for stages in (model.explain(scores), step.explain()):
            self.assertIn("=:", stages["cd"])
            self.assertIn("for ", stages["ll"])
            self.assertIn("schedule", stages)


class ArraysTest(unittest.TestCase):

    def test_numpy_sees_the_same_memory(self):
        model, scores, _ = xor_model()
        found = model.predict(scores)(x=XOR_X)
        view = np.asarray(found)
        self.assertTrue(np.shares_memory(view, np.asarray(found)))
        by_dlpack = np.from_dlpack(found)
        self.assertEqual(by_dlpack.ctypes.data, view.ctypes.data)
        self.assertEqual((found.shape, found.dtype, len(found)),
                         ((4, 1), "f32", 4))

    def test_layouts(self):
        model = ocannl.Model()
        y = model.input("x", "4|2") * 1
        wanted = np.arange(8, dtype=np.float32).reshape(4, 2)
        for values in (wanted, np.asfortranarray(wanted),
                       np.repeat(wanted, 2, 0)[::2], wanted[::-1][::-1],
                       wanted.tolist(), memoryview(wanted),
                       np.ascontiguousarray(wanted[:, ::-1])[:, ::-1],
                       (ctypes.c_float * 2 * 4).from_buffer(wanted.copy()),
                       ocannl.Array(wanted)):
            np.testing.assert_array_equal(value_of(model, y, x=values), wanted)
        flat = model.predict(model.input("flat", "8") * 1)
        for values in (array.array("f", range(8)), (ctypes.c_float * 8)(
                *range(8)), memoryview(wanted.tobytes()).cast("f")):
            np.testing.assert_array_equal(flat(flat=values), np.arange(8))
        one = model.predict(model.input("one", "") * 1)
        for value in (ctypes.c_float(2), np.float32(2), np.array(2, "f4"), 2):
            self.assertEqual(float(one(one=value)), 2)

    def test_dlpack_of_others(self):
        class Dlpack:  # as a tensor of PyTorch, without the buffer protocol
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__()

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        model = ocannl.Model()
        y = model.input("x", "2|3") + 0
        wanted = np.arange(6, dtype=np.float32).reshape(3, 2).T
        np.testing.assert_array_equal(
            value_of(model, y, x=Dlpack(wanted)), wanted)

    def test_dtypes(self):
        for dtype, kind in (("bool", np.bool_), ("u8", np.uint8),
                            ("u16", np.uint16), ("i32", np.int32),
                            ("u32", np.uint32), ("i64", np.int64),
                            ("u64", np.uint64), ("f16", np.float16),
                            ("f32", np.float32), ("f64", np.float64)):
            array = ocannl.Array(np.array([0, 1, 1]).astype(kind), dtype)
            self.assertEqual(np.asarray(array).dtype, kind, dtype)
            self.assertEqual(array.tolist(), [0, 1, 1])
        self.assertEqual(ocannl.Array([2 ** 40], "i64").tolist(), [2 ** 40])
        narrow = ocannl.Array([0.1, 1], "bf16")
        self.assertEqual(narrow.tolist(), [0.10009765625, 1])
        self.assertEqual(ocannl.Array([1e6, 1.5], "f16").tolist(),
                         [math.inf, 1.5])
        with self.assertRaisesRegex(BufferError, "bf16"):
            memoryview(narrow)

    def test_parameters_are_a_mapping(self):
        model, scores, _ = xor_model()
        self.assertEqual(len(model), 4)
        self.assertIn("mlp_layer1_w", model)
        for name in model:
            model[name] = np.zeros(model[name].shape, np.float32)
        self.assertEqual(value_of(model, scores, x=XOR_X).tolist(),
                         [[0], [0], [0], [0]])
        path = str(TEMP / "params.safetensors")
        model.save(path)
        other, scores, _ = xor_model(seed=5)
        other.load(path)
        self.assertEqual(other.params_hash(), model.params_hash())


class ProcessTest(unittest.TestCase):

    def test_other_threads_run_meanwhile(self):
        model = ocannl.Model(tier="interp")
        x = model.input("x", "300|300")
        y = model.predict(ocannl.einsum("a|b; b|c => a|c", x, x))
        values = np.ones((300, 300), np.float32)
        turns = []
        done = threading.Event()

        def count():
            while not done.wait(0.001):
                turns.append(1)

        thread = threading.Thread(target=count)
        thread.start()
        y(x=values)
        done.set()
        thread.join()
        self.assertGreater(len(turns), 2)

    def test_other_threads_run_during_a_compilation(self):
        model = ocannl.Model(tier="x86")
        tokens = model.input("tokens", "2,16|", "i32")
        logits = ocannl.decoder_only(tokens, vocabulary=11, length=16, layers=4,
                                     size=16, heads=2, hidden=32)
        loss = ocannl.cross_entropy(logits, ocannl.one_hot(tokens, 11))
        built, turns, done = [], [], threading.Event()

        def count():  # of other models, and then of this one
            while not done.wait(0.001):
                turns.append(ocannl.Model().input("x", "2") * 2)

        def build():
            for k in range(50):
                built.append(ocannl.relu(tokens.to("f32") * k).rows)

        threads = [threading.Thread(target=work) for work in (count, build)]
        for thread in threads:
            thread.start()
        steps = [model.train(loss, ocannl.sgd(0.1)) for _ in range(2)]
        done.set()
        for thread in threads:
            thread.join()
        self.assertGreater(len(turns), 10)
        self.assertEqual(built, ["2,16|"] * 50)
        ids = np.zeros((2, 16), np.int32)
        self.assertGreater(float(steps[0](tokens=ids)), 0)

    def test_threads_take_turns(self):
        model, scores, step = xor_model(ocannl.sgd(0.0))
        predict = model.predict(scores)
        wanted, failures = predict(x=XOR_X).tolist(), []

        def work(first):
            try:
                for batch in range(first, first + 4):
                    predict(x=np.ones((batch, 2), np.float32))
                for _ in range(100):
                    float(step(x=XOR_X, y=XOR_Y))
                    if predict(x=XOR_X).tolist() != wanted:
                        raise AssertionError("other values")
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(5 * k + 5,))
                   for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((failures, step.count), ([], 400))

    def test_process_ends_while_threads_run(self):
        program = (
            "import sys, threading, time\n"
            "sys.path.insert(0, 'python')\n"
            "import ocannl\n"
            "model = ocannl.Model(tier='interp')\n"
            "x = model.input('x', '100|100')\n"
            "y = model.predict(ocannl.einsum('a|b; b|c => a|c', x, x))\n"
            "cells = [[1.0] * 100] * 100\n"
            "def work():\n"
            "    while True: y(x=cells)\n"
            "threading.Thread(target=work, daemon=True).start()\n"
            "time.sleep(0.2)\n")
        ran = subprocess.run([sys.executable, "-c", program], check=False,
                             stderr=subprocess.PIPE, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_ctrl_c_is_an_exception(self):
        _, _, step = xor_model()
        step(x=XOR_X, y=XOR_Y)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        previous = signal.signal(
            signal.SIGALRM,
            lambda *_: os.kill(os.getpid(), signal.SIGINT))
        try:
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    step(x=XOR_X, y=XOR_Y)
        finally:
            signal.signal(signal.SIGALRM, previous)
        self.assertGreaterEqual(float(step(x=XOR_X, y=XOR_Y)), 0)

    def test_after_fork_it_says_so(self):
        _, _, step = xor_model()
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                step(x=XOR_X, y=XOR_Y)
                text = "no error"
            except ocannl.Error as error:
                text = str(error)
            os.write(write, text.encode())
            os._exit(0)
        os.waitpid(child, 0)
        self.assertIn("fork", os.read(read, 1000).decode())


if __name__ == "__main__":
    unittest.main()
