#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX files in Python. 2 seconds."""

import os
import pathlib
import struct
import sys
import tempfile
import unittest

import numpy as np

sys.path.insert(0, os.path.abspath("python"))

import ocannl  # noqa: E402

TEMP = pathlib.Path(os.environ.get("TEST_TMPDIR") or tempfile.mkdtemp())
WEIGHTS = np.arange(6, dtype=np.float32).reshape(2, 3) - 2.5


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, value):
    """A field of a message of protocol buffers: a number or bytes."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor_info(name, dims):
    shape = b"".join(
        field(1, field(1, dim) if isinstance(dim, int) else field(2, dim))
        for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def model_file(path, op="Relu", x="x"):
    """y = op(x @ w) for x of (batch, 2)."""
    weights = (field(1, 2) + field(1, 3) + field(2, 1) + field(8, "w") +
               field(9, struct.pack("<6f", *WEIGHTS.ravel())))
    graph = (field(1, field(1, x) + field(1, "w") + field(2, "h") +
                   field(4, "MatMul")) +
             field(1, field(1, "h") + field(2, "y") + field(4, op)) +
             field(2, "g") + field(5, weights) +
             field(11, tensor_info(x, ("batch", 2))) +
             field(12, tensor_info("y", ("batch", 3))))
    path.write_bytes(field(1, 8) + field(7, graph) +
                     field(8, field(1, "") + field(2, 17)) +
                     field(14, field(1, "classes") + field(2, "a b c")))
    return path


class OnnxTest(unittest.TestCase):

    def test_runs_a_model(self):
        path = model_file(TEMP / "model.onnx")
        for tier in ("interp", "auto"):
            model = ocannl.onnx.load(path, {"batch": 4}, tier=tier)
            self.assertEqual(model.inputs, [("x", "f32", (4, 2))])
            self.assertEqual(model.outputs, [("y", "f32", (4, 3))])
            np.testing.assert_array_equal(model.parameters()["w"], WEIGHTS)
            x = np.arange(8, dtype=np.float32).reshape(4, 2)
            for found in (model(x=x), model({"x": x})):
                np.testing.assert_array_equal(
                    found["y"], np.maximum(x @ WEIGHTS, 0))

    def test_inputs_of_any_name(self):
        array = np.ones((1, 2), np.float32)
        for name in ("inputs", "self"):
            path = model_file(TEMP / f"{name}.onnx", x=name)
            model = ocannl.onnx.load(path, {"batch": 1})
            np.testing.assert_array_equal(
                model(**{name: array})["y"], np.maximum(array @ WEIGHTS, 0))

    def test_free_dimensions_follow_the_arrays(self):
        path = model_file(TEMP / "model.onnx")
        model = ocannl.onnx.load(path)
        self.assertEqual(model.inputs, [("x", "f32", ("batch", 2))])
        self.assertEqual(model.outputs, [("y", "f32", ("batch", 3))])
        self.assertEqual(model.metadata, {"classes": "a b c"})
        np.testing.assert_array_equal(model.parameters()["w"], WEIGHTS)
        for batch in (1, 5, 1, 2, *range(1, 20)):
            x = np.full((batch, 2), batch, np.float32)
            np.testing.assert_array_equal(model(x=x)["y"],
                                          np.maximum(x @ WEIGHTS, 0))
        for wrong, pattern in ((np.ones((4, 3), np.float32), "batch, 2"),
                               (np.ones(2, np.float32), "batch, 2"),
                               (np.ones((0, 2), np.float32), "above 0")):
            with self.assertRaisesRegex(ocannl.Error, pattern):
                model(x=wrong)

    def test_constants(self):
        path = model_file(TEMP / "model.onnx")
        x = np.ones((2, 2), np.float32)
        model = ocannl.onnx.load(path, constants={"x": x})
        self.assertEqual(model.inputs, [])
        np.testing.assert_array_equal(model()["y"], np.maximum(x @ WEIGHTS, 0))

    def test_mistakes(self):
        path = model_file(TEMP / "model.onnx")
        model = ocannl.onnx.load(path, {"batch": 4})
        x = np.ones((4, 2), np.float32)
        damaged = TEMP / "damaged.onnx"
        damaged.write_bytes(path.read_bytes()[:60])
        unknown = model_file(TEMP / "unknown.onnx", "Foo")
        for call, pattern in (
                (lambda: ocannl.onnx.load("none.onnx"), "none.onnx"),
                (lambda: ocannl.onnx.load(damaged), "damaged.onnx"),
                (lambda: ocannl.onnx.load(unknown, {"batch": 1}), "Foo"),
                (lambda: ocannl.onnx.load(unknown), r"unknown\.onnx: (.|\n)*Foo"),
                (lambda: ocannl.onnx.load(path, constants={"z": x}),
                 "no input `z`"),
                (lambda: ocannl.onnx.load(path, constants={"x": x[0]}),
                 r"f32\[batch, 2\], but its constant is f32\[2\]"),
                (lambda: ocannl.onnx.load(path, {"b": 1}), "b"),
                (lambda: ocannl.onnx.load(path, 4), "`dims` is 4, an int"),
                (lambda: ocannl.onnx.load(None), "`path` is None"),
                (lambda: model(x), r"given by name: model\(x=array\)"),
                (lambda: model(), "needs the input `x`: give x=array"),
                (lambda: model(x=x, z=x), "no input `z`; its inputs are: x"),
                (lambda: model(x=x[:2]), r"dims \[2, 2\], and `batch` is 4"),
                (lambda: model(x=x.astype("f8")), "f64, but f32 is needed")):
            with self.assertRaisesRegex((ocannl.Error, TypeError),
                                        pattern) as caught:
                call()
            self.assertNotRegex(str(caught.exception), r"::|C\+\+|--\w")


if __name__ == "__main__":
    unittest.main()
