#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plausible mistakes of a Python user: each is an exception that names the
thing and the fix, and leaves the model usable. 10 seconds."""

import re
import sys
import traceback

import numpy as np

sys.path.insert(0, "python")

import ocannl  # noqa: E402

F32 = np.float32
X, Y = np.ones((4, 2), F32), np.ones((4, 1), F32)

# What a user writes, and what the message must say. `m` is a model with inputs
# x : 4|2, y : 4|1 and ids : 4|; `net` is a perceptron of x, `loss` its loss,
# `step` its training and `f` its prediction.
MISTAKES = [
    # Steps.
    ("step(x=X)", r"TypeError.*needs the input `y`: give y=array"),
    ("step(X, Y)", r"TypeError.*positional argument"),
    ("step(x=X, y=Y, z=X)", r"no input `z`; its inputs are: x, y"),
    ("step(x=X[:2], y=Y)", r"`x` has the shape \(2, 2\), but \(4, 2\)"),
    ("step(x=X.T, y=Y)", r"`x` has the shape \(2, 4\), but \(4, 2\)"),
    ("step(x=X.astype('f8'), y=Y)", r"f64, but f32 is needed.*astype\(\"float3"),
    ("step(x=X.astype('i4'), y=Y)", r"i32, but f32 is needed.*astype\(\"float3"),
    ("step(x=X.astype('c8'), y=Y)", r"`x` has elements of the format"),
    ("step(x='a', y=Y)", r"`x` is a str; give an array"),
    ("step(x=None, y=Y)", r"`x` is a NoneType; give an array"),
    ("step(x=[[1, 2], [3]], y=Y)", r"lists of different lengths"),
    ("step(x=[[1, 'a']], y=Y)", r"`x` is a str; give an array"),
    ("step(x=net, y=Y)", r"`x` is a Tensor; give an array"),
    ("l = []; l.append(l); step(x=l, y=Y)", r"`x` has lists in lists deeper"),
    ("step(x={1: 2}, y=Y)", r"`x` is a dict; give an array"),
    ("step(x=X.astype(object), y=Y)", r"`x` has elements of the format"),
    ("m.train(loss, 0.1)", r"TypeError.*needs an optimiser, such as"),
    ("m.train(loss)", r"TypeError.*'optimiser'"),
    ("m.train(net, ocannl.sgd(0.1))", r"has shape 4\|1; it must have one cell"),
    ("m.train(x.sum(), ocannl.sgd(0.1))", r"no parameter reaches it"),
    ("m.train(1.0, ocannl.sgd(0.1))", r"TypeError.*a float is not a tensor"),
    ("m.train(loss, ocannl.sgd('0.1x'))", r"could not convert"),
    ("m.train(loss, ocannl.sgd(0.1, momentum=2.0))",
     r"momentum is 2; it must be in \[0, 1\)"),
    ("m.train(loss, ocannl.adam(beta1=-1.0))", r"beta1 is -1; it must be in"),
    ("m.train(loss, ocannl.sgd(ocannl.cosine(1.0, 0.0, steps=0)))",
     r"a schedule has 1 step or more"),
    ("m.train(loss, ocannl.sgd(0.1).clipped(-1.0))", r"-1"),
    ("m.train(other.input('q', '1').sum(), ocannl.sgd(0.1))",
     r"is a tensor of another model"),
    # Predictions.
    ("m.predict()", r"TypeError.*needs a tensor"),
    ("m.predict(X)", r"TypeError.*a ndarray is not a tensor"),
    ("f(x=np.ones((4, 3), F32))", r"`x` has the shape|size|2.*3|3.*2"),
    ("f()", r"needs the input `x`: give x=array"),
    ("f(y=Y)", r"no input `y`; its inputs are: x"),
    ("f(x=np.float32(1))", r"`x` has the shape \(\), but `4\|2` has 1 axes"),
    ("float(f(x=X))", r"an array of 4 cells is not a number"),
    ("m.predict(ids)(ids=X[:, 0])", r"f32, but i32 is needed"),
    # Tensors.
    ("x + X", r"TypeError.*ndarray is not a tensor.*model.constant"),
    ("X * x", r"TypeError"),
    ("x + 'a'", r"TypeError.*a str is not a tensor or a number"),
    ("x + None", r"TypeError.*a NoneType is not a tensor"),
    ("if x > 0: pass", r"TypeError.*has no value before it is computed"),
    ("[a for a in x]", r"TypeError.*cannot be iterated over"),
    ("x[0]", r"TypeError.*not subscriptable"),
    ("x + other.input('q', '1')", r"tensors of two models"),
    ("ocannl.relu(X)", r"TypeError.*ndarray is not a tensor"),
    ("ocannl.relu(2.0)", r"TypeError.*none of the operands is a tensor"),
    ("(x + m.input('q', '4|3')).rows", r"4\|2.*4\|3|4\|3.*4\|2|2.*3"),
    ("ocannl.einsum('ij,jk->ik', x, x)", r"=>|;"),
    ("ocannl.einsum('b|i => b|j', x).rows", r"j"),
    ("x.to('float32')", r"\"float32\" is not a dtype; give one of.*f32"),
    ("x.reshape('|3').rows", r"3"),
    ("x.reshape('a')", r"is not a shape; write sizes"),
    ("ocannl.gather('v, d; b| => b|d', x, x)", r"integer|dtype|i32"),
    ("m.input('z', '4|two')", r"is not a shape; write sizes"),
    ("m.input('z', '4|2', 'float')", r"\"float\" is not a dtype"),
    ("m.input('z', (4, 2))", r"TypeError.*wrong type, among: 'z', \(4, 2\)"),
    ("m.constant('c', X, '4|3')", r"`c` has 8 cells, but the rows 4\|3 have 12"),
    ("x.rows.foo", r"AttributeError"),
    # Texts.
    ("m.parse('{w} * u')", r"no tensor `u`; give it as a keyword, u=tensor"),
    ("m.parse('relu (')", r"line 1, column"),
    ("m.parse('x + x', x=X)", r"TypeError.*wrong type"),
    # Layers.
    ("ocannl.linear(X, 3)", r"TypeError.*linear\(\) needs a tensor, not a ndarr"),
    ("ocannl.linear(x, '3')", r"TypeError.*wrong type, among: .*\['3'\]"),
    ("ocannl.linear(x, 3, init='he')", r"no first value \"he\"; give one of"),
    ("ocannl.mlp(x, [0])", r"a size of 0 is not positive"),
    ("ocannl.mlp(x, [])", r"mlp\(\) has no sizes"),
    ("ocannl.conv2d(x, 8).rows", r"axes|axis|rank|shape"),
    ("ocannl.conv2d(m.input('i', '1|8,8,3'), 8, padding='full')",
     r"no padding \"full\"; give \"same\", \"valid\""),
    ("ocannl.conv2d(m.input('i2', '1|3,8,8'), 8)", r"channels"),
    ("ocannl.max_pool2d(m.input('i3', '1|8,8,3'), 0).rows", r"kernel|window|0"),
    ("ocannl.dropout(x, 1.5)", r"1\.5.*\[0, 1\)"),
    ("ocannl.embedding(x, 10, 4).rows", r"integer|dtype|f32"),
    ("ocannl.encoder(x, layers=1, size=4, heads=0, hidden=3)",
     r"size=4 is not a multiple of heads=0"),
    ("ocannl.attention(x, size=4, heads=0)",
     r"size=4 is not a multiple of heads=0"),
    ("ocannl.where(1, 2, 3)", r"TypeError.*none of the operands is a tensor"),
    ("ocannl.attention(x, size=7, heads=2)",
     r"size=7 is not a multiple of heads=2"),
    ("ocannl.cross_entropy(net, ids)", r"takes the probability of each class"),
    # Models, parameters and files.
    ("ocannl.Model(tier='gpu')", r"no tier gpu; did you mean cuda"),
    ("ocannl.Model(seed=-1)", r"TypeError.*wrong type, among: 'auto', -1"),
    ("m[3]", r"KeyError.*3"),
    ("m['nope']", r"KeyError.*nope"),
    ("m['mlp_layer1_w'] = X", r"`mlp_layer1_w` has the shape \(8, 2\), not"),
    ("m['mlp_layer1_w'] = np.zeros((8, 2))", r"f64, but f32 is needed"),
    ("del m['mlp_layer1_w']", r"TypeError.*cannot be deleted"),
    ("m.save('params.txt')", r"params\.txt"),
    ("m.save('/nonexistent/p.npz')", r"nonexistent"),
    ("m.load('/nonexistent/p.npz')", r"nonexistent"),
    ("step.load('/nonexistent/p.npz')", r"nonexistent"),
    ("ocannl.fit(step, {'x': X, 'y': Y[:2]}, batch_size=4)",
     r"give arrays of one length"),
    ("ocannl.fit(step, {'x': X, 'y': Y}, batch_size=5)",
     r"batch_size=5, but there are 4 examples"),
    ("ocannl.fit(step, {'x': X}, batch_size=4)", r"needs the input `y`"),
    ("memoryview(ocannl.Array([1], 'bf16'))", r"BufferError.*bf16"),
    ("ocannl.Array([1], 'int')", r"\"int\" is not a dtype"),
    ("ocannl.Array([0.5], 'i32')", r"number 0\.5, which i32 does not hold"),
    ("ocannl.Array([2 ** 53 + 1], 'i64')", r"integer above 2\^53.*an array"),
    ("ocannl.Array([300], 'u8')", r"number 300, which u8 does not hold"),
]


def scope():
    m, other = ocannl.Model(), ocannl.Model()
    x, y = m.input("x", "4|2"), m.input("y", "4|1")
    net = ocannl.mlp(x, [8, 1])
    loss = ocannl.mean_squared_error(net, y)
    step = m.train(loss, ocannl.sgd(0.0))
    return {"m": m, "other": other, "x": x, "y": y, "net": net, "loss": loss,
            "ids": m.input("ids", "4|", "i32"), "step": step,
            "f": m.predict(net), "np": np, "ocannl": ocannl, "X": X, "Y": Y,
            "F32": F32}


def main():
    names = scope()
    first = float(names["step"](x=X, y=Y))
    failures = []
    for text, pattern in MISTAKES:
        try:
            exec(compile(text, "user.py", "exec"), dict(names))
            failures.append(f"{text}: no exception")
            continue
        except Exception as error:
            said = "".join(traceback.format_exception_only(error))
        if not re.search(pattern, said, re.DOTALL):
            failures.append(f"{text}: {said.strip()}")
        if "incompatible function arguments" in said:
            failures.append(f"{text}: the words of the binding")
        if "--verbose" in sys.argv:
            print(f"{text}\n    {said.strip()}")
        # The model is as it was.
        assert float(names["step"](x=X, y=Y)) == first, text
    assert not failures, "\n".join(failures)
    assert len(MISTAKES) >= 60


main()
