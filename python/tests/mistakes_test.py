#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Plausible mistakes of a Python user: each is an exception that names the
thing and the fix, and leaves the model usable. 10 seconds."""

import copy
import math
import os
import pathlib
import pickle
import re
import sys
import tempfile

import numpy as np

sys.path[:0] = [os.path.abspath("python"), os.path.abspath("python/tests")]

import ocannl  # noqa: E402
import small_model  # noqa: E402
from small_model import F32, X, Y  # noqa: E402

# What a user writes, and what the message must say. small_model.scope says what
# the names are.
MISTAKES = [
    # Steps.
    ("step(x=X)", r"TypeError.*needs the input `y`: give y=array"),
    ("step(X, Y)", r"TypeError.*given by name: step\(x=array, y=array\)"),
    ("step(x=X, y=Y, z=X)", r"no input `z`; its inputs are: x, y"),
    ("step(x=X[:2], y=Y)", r"`x` has the shape \(2, 2\), but \(4, 2\)"),
    ("step(x=X.T, y=Y)", r"`x` has the shape \(2, 4\), but \(4, 2\)"),
    ("step(x=X.astype('f8'), y=Y)", r"f64, but f32 is needed.*astype\(\"float3"),
    ("step(x=X.astype('i4'), y=Y)", r"i32, but f32 is needed.*astype\(\"float3"),
    ("step(x=X.astype('c8'), y=Y)", r"array of complex64.*astype\(\"float32"),
    ("step(x='a', y=Y)", r"`x` is a str; give an array"),
    ("step(x=None, y=Y)", r"`x` is a NoneType; give an array"),
    ("step(x=[[1, 2], [3]], y=Y)", r"lists of different lengths"),
    ("step(x=[[1, 'a']], y=Y)", r"`x` has an element that is a str; give"),
    ("step(x=net, y=Y)", r"no value before.*predict"),
    ("l = []; l.append(l); step(x=l, y=Y)", r"`x` has lists in lists deeper"),
    ("step(x={1: 2}, y=Y)", r"`x` is a dict; give an array"),
    ("step(x=X.astype(object), y=Y)", r"array of object, but f32 is needed"),
    ("m.train(loss, 0.1)", r"TypeError.*is 0\.1, a float, but an Optimiser is needed"),
    ("m.train(loss)", r"TypeError.*'optimiser'"),
    ("m.train(net, ocannl.sgd(0.1))", r"has shape 4\|1; it must have one cell"),
    ("m.train(x.sum(), ocannl.sgd(0.1))", r"no parameter reaches it"),
    ("m.train(1.0, ocannl.sgd(0.1))", r"TypeError.*`loss` is 1.0, a float"),
    ("m.train(loss, ocannl.sgd('0.1x'))", r"`rate` is '0.1x', a str, but a num"),
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
    ("m.predict(X)", r"TypeError.*is a ndarray, but a Tensor is needed"),
    ("f(x=np.ones((4, 3), F32))", r"`x` has the shape|size|2.*3|3.*2"),
    ("f()", r"needs the input `x`: give x=array"),
    ("f(y=Y)", r"no input `y`; its inputs are: x"),
    ("f(x=np.float32(1))", r"`x` has the shape \(\), but `4\|2` has 1 axis"),
    ("float(f(x=X))", r"an array of 4 cells is not a number"),
    ("m.predict(ids)(ids=X[:, 0])", r"f32, but i32 is needed"),
    # Tensors.
    ("x + X", r"TypeError.*ndarray is not a tensor.*model.constant"),
    ("X * x", r"TypeError"),
    ("x + 'a'", r"TypeError.*a str is not a tensor or a number"),
    ("x + None", r"TypeError.*a NoneType is not a tensor"),
    ("if x > 0: pass", r"TypeError.*has no value before it is computed"),
    ("[a for a in x]", r"TypeError.*cannot be iterated over"),
    ("x[0]", r"TypeError.*ocannl\.part\("),
    ("x + other.input('q', '1')", r"tensors of two models"),
    ("ocannl.relu(X)", r"TypeError.*is a ndarray, but a Tensor.*model.constant"),
    ("ocannl.relu(2.0)", r"TypeError.*none of the operands is a tensor"),
    ("(x + m.input('q', '4|3')).rows", r"4\|2.*4\|3|4\|3.*4\|2|2.*3"),
    ("ocannl.einsum('ij,jk->ik', x, x)", r"=>|;"),
    ("ocannl.einsum('b|i => b|j', x).rows", r"j"),
    ("x.to('float32')", r"\"float32\" is not a dtype; give \"f32\""),
    ("x.reshape('|3').rows", r"3"),
    ("x.reshape('a')", r"is not a shape; write sizes"),
    ("ocannl.gather('v, d; b| => b|d', x, x)", r"integer|dtype|i32"),
    ("m.input('z', '4|two')", r"is not a shape; write sizes"),
    ("m.input('z', '4|2', 'float')", r"\"float\" is not a dtype"),
    ("m.input('z', (4, 2))", r"`rows` is \(4, 2\), a tuple, but a string"),
    ("m.constant('c', X, '4|3')", r"`c` has 8 cells, but the rows 4\|3 have 12"),
    ("x.rows.foo", r"AttributeError"),
    # Texts.
    ("m.parse('{w} * u')", r"no tensor `u`; give it as a keyword, u=tensor"),
    ("m.parse('relu (')", r"line 1, column"),
    ("m.parse('x + x', x=X)", r"TypeError.*is a ndarray, but a Tensor or a num"),
    # Layers.
    ("ocannl.linear(X, 3)", r"TypeError.*linear\(\): `x` is a ndarray, but a T"),
    ("ocannl.linear(x, '3')", r"`outputs` is '3', a str, but an integer, a list"),
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
    ("ocannl.Model(seed=-1)", r"seed=-1; give one from 0 to 2\^32"),
    ("m[3]", r"no parameter 3; the model has: mlp_layer1_w"),
    ("m['nope']", r"no parameter 'nope'; the model has: mlp_layer1_w"),
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
    # Arrays of other kinds.
    ("step(x=X.astype('M8[s]'), y=Y)", r"array of datetime64\[s\].*astype"),
    ("step(x=X.astype(str), y=Y)", r"array of <U\d+, but f32 is needed"),
    ("step(x=X.astype('>f4'), y=Y)", r"array of >f4, but f32.*astype"),
    ("step(x=X.view([('a', 'f4'), ('b', 'f4')]), y=Y)", r"\('a', '<f4'\)"),
    ("step(x=np.float32(1), y=Y)", r"`x` has the shape \(\), but \(4, 2\)"),
    ("step(x=X[:0], y=Y)", r"`x` has the shape \(0, 2\).*give 4 examples"),
    ("f(x=X[:0])", r"`x` has the shape \(0, 2\), of no cells; give 1 example"),
    ("step(x=b'abc', y=Y)", r"array of u8, but f32.*numpy\.asarray\(values"),
    ("step(x=range(8), y=Y)", r"`x` is a range; give an array"),
    ("step(x=(row for row in X), y=Y)", r"`x` is a generator; give an array"),
    ("step(x=list(X), y=Y)", r"list of numpy\.ndarray.*numpy\.stack"),
    ("step(x=np.ma.masked_array(X, X > 0), y=Y)", r"masked array.*filled"),
    ("step(x=[[10 ** 400, 1]] * 4, y=Y)", r"an integer that no dtype holds"),
    ("step(x=[[1j, 1]] * 4, y=Y)", r"an element that is a complex"),
    ("step(x=Dlpack(X), y=Y)", r"`x` cannot be read: detach it"),
    ("step(x=OnGpu(X), y=Y)", r"not in the memory of the host.*\.cpu\(\)"),
    ("m.predict(ids)(ids=[1.5, 2, 3, 4])", r"number 1\.5, which i32 does not"),
    ("ocannl.Array([[1], [2, 3]])", r"lists of different lengths"),
    ("ocannl.Array(X, np.float64)", r"float64 is not a dtype; give \"f64\""),
    ("int(f(x=X))", r"an array of 4 cells is not a number"),
    ("f(x=X)[0, 0] = 1", r"is a copy: change w = numpy.array"),
    ("np.from_dlpack(Dlpack(X))", r"detach"),
    # Steps and predictions.
    ("step({'x': X, 'y': Y})", r"given by name: step\(x=array, y=array\)"),
    ("step(x=X, yy=Y)", r"no input `yy`; its inputs are: x, y"),
    ("step()", r"needs the input `x`: give x=array"),
    ("step(x=X[:2], y=Y[:2])", r"give 4 examples: only predictions take any"),
    ("f(X)", r"given by name: predict\(x=array\)"),
    ("f(x=X, batch=3)", r"no input `batch`; its inputs are: x"),
    ("m.predict([x, y])", r"is a list, but a Tensor is needed"),
    ("step.count = 3", r"count"),
    ("step.loss", r"a call returns the loss: float\(step\(x=array\)\)"),
    ("step(x=X, y=Y).backward()", r"no attribute `backward`; a call of the"),
    ("step.explain('ll')", r"too many positional arguments: Step.explain\(\)"),
    ("m.profile()", r"make the model with profile=True"),
    ("step.profile()", r"make the model with profile=True"),
    ("m.generator(net)", r"only the logits of decoder_only\(\) are"),
    ("ocannl.Model(tier='interp').predict(1)", r"`outputs` is 1, an int"),
    ("interp.tune(1)", r"the tier interp is not tuned"),
    # Tensors as values.
    ("float(net)", r"no value before it is computed: model\.predict"),
    ("int(net)", r"no value before it is computed"),
    ("len(net)", r"no len\(\); the shape of `\w+` is \(4, 1\)"),
    ("x in [y, x]", r"`is` tells whether two tensors are the same"),
    ("1 < x < 2", r"no value before"),
    ("sorted([x, y])", r"no value before"),
    ("net == None", r"a NoneType is not a tensor or a number"),
    ("x[::2]", r"ocannl\.part\("),
    ("x[0] = 1", r"ocannl\.where\(condition, a, b\) chooses cells"),
    ("x // 2", r"ocannl\.floor\(a / b\)"),
    ("round(x)", r"ocannl\.round"),
    ("np.array(x)", r"no value before"),
    ("np.sum(x)", r"numpy\.sum\(\) does not take tensors"),
    ("np.dot(X, x)", r"numpy\.dot\(\) does not take tensors"),
    ("np.isnan(x)", r"numpy\.isnan\(\) does not take tensors"),
    ("np.add(X, x)", r"a ndarray is not a tensor.*model\.constant"),
    ("X @ x", r"a ndarray is not a tensor.*model\.constant"),
    ("x += X", r"a ndarray is not a tensor.*model\.constant"),
    ("math.exp(x)", r"no value before"),
    ("x.T", r"no attribute `T`; ocannl\.einsum\(\"a, b => b, a\""),
    ("x.item()", r"no attribute `item`; model\.predict"),
    ("x.backward()", r"no attribute `backward`; a call of the step"),
    ("x.sum(1)", r"`spec` is 1, an int, but a string or None is needed"),
    ("x.sum(axis=1)", r"unexpected.*'axis'.*specs name axes: x\.sum"),
    ("x.max()", r"missing a required argument: 'spec': Tensor\.max\(spec\)"),
    ("x.reshape(2, 4)", r"too many positional arguments: Tensor\.reshape\(rows"),
    ("x.reshape('3|3').rows", r"there are 8, and it has 9.*change a size"),
    ("x.to(np.int32)", r"int32 is not a dtype; give \"i32\""),
    ("x.named('')", r"`` is not a name"),
    ("x.named(3)", r"`name` is 3, an int, but a string is needed"),
    ("x & 1.5", r"integers or bools.*compare them first"),
    ("ocannl.Tensor([1, 2])", r"made by a model: model\.input\(name, rows\)"),
    ("ocannl.tensor([1])", r"no attribute `tensor`.*model\.input"),
    ("ocannl.array([1])", r"no attribute `array`; ocannl\.Array"),
    ("ocannl.nn", r"layers are functions"),
    ("ocannl.softmax(x)", r"missing.*'x': softmax\(spec, x\)"),
    ("ocannl.softmax(x, '...|v => ...|0')", r"`spec` is a Tensor, but a string"),
    ("ocannl.einsum('b|i => b|', x, axis=0)", r"has no axis `axis`"),
    ("ocannl.pow(x)", r"missing.*'b': pow\(a, b\)"),
    ("ocannl.part('...|i', x, 1, 5).rows", r"make the axis 6 or longer"),
    ("ocannl.part('...|i', x, -1, 1)", r"starts at a cell from 0"),
    ("ocannl.one_hot(x, 3)", r"not f32; convert them: x\.to\(\"i32\"\)"),
    ("ocannl.one_hot(ids, 0)", r"0 classes are too few"),
    ("ocannl.cross_entropy(net, Y)", r"is a ndarray, but a Tensor.*constant"),
    ("ocannl.cross_entropy(net, y, label_smoothing=2.0)", r"in \[0, 1\]"),
    ("m.constant('k', X)", r"missing.*'rows': Model\.constant\(name, values"),
    ("m.constant('k', X, '4|2', 'i32')", r"f32, but i32 is needed"),
    # Texts.
    ("m.parse('x * k', k='3')", r"is '3', a str, but a Tensor or a number"),
    ("m.parse(3)", r"`text` is 3, an int, but a string is needed"),
    ("m.parse('foo x')", r"no function `foo`; functions of ocannl have"),
    ("m.parse('x ++ \"b|i => b|q\"').rows", r"give its size: q=3"),
    ("m.parse('x * q', q=other.input('q', '4|2'))", r"of another model"),
    ("m.parse('(' * 4000)", r"nested too deeply"),
    # Models, layers and optimisers.
    ("ocannl.Model(1, 'x86')", r"too many.*Model\(seed=1, \*, tier='auto'"),
    ("ocannl.Model(seed='a')", r"`seed` is 'a', a str, but an integer"),
    ("ocannl.Model(threads=-1)", r"threads=-1; give 0, for all processors"),
    ("ocannl.Model(tier=None)", r"`tier` is None, but a string is needed"),
    ("m.input('a b', '4|2')", r"`a b` is not a name of an input"),
    ("m.input('z', '0|2')", r"write sizes from 1"),
    ("m.w = 3", r"`w` of a model cannot be set; keep what belongs to"),
    ("m.mlp_layer1_w", r"an item: model\['mlp_layer1_w'\]"),
    ("m.parameters()", r"a model maps names to parameters"),
    ("m['mlp_layer1_w'] = 0.0", r"has the shape \(8, 2\), not \(\)"),
    ("m['mlp_layer1_w'] = None", r"is a NoneType; give an array"),
    ("m.pop('mlp_layer1_w')", r"cannot be deleted"),
    ("pickle.dumps(m)", r"save its parameters by model\.save"),
    ("copy.deepcopy(m)", r"cannot be pickled or copied"),
    ("pickle.dumps(net)", r"a part of its model"),
    ("pickle.dumps(step)", r"make it again from its model"),
    ("ocannl.sgd(-1.0)", r"the learning rate is -1\.0; it must be finite"),
    ("ocannl.sgd(float('nan'))", r"the learning rate is nan"),
    ("ocannl.sgd(lr=0.1)", r"the learning rate is the first argument"),
    ("ocannl.adam(betas=(0.9, 0.99))", r"'betas'.*give beta1 and beta2"),
    ("m.train(loss, ocannl.sgd)", r"is a function, but an Optimiser is needed"),
    ("ocannl.constant(0.1, warmup=-3)", r"warmup=-3, but"),
    ("ocannl.mlp(x, 8)", r"`sizes` is 8, an int, but a list of integers"),
    ("ocannl.dropout(x, 'a')", r"`rate` is 'a', a str, but a number is needed"),
    ("ocannl.layer_norm(x, epsilon=-1.0)", r"epsilon is -1\.0"),
    ("ocannl.decoder_only(ids, vocabulary=9, length=4, layers=2 ** 31, size=4, "
     "heads=1, hidden=4)", r"layers=2147483648; give 1 to 10,000"),
    ("ocannl.encoder(x, layers=0, size=4, heads=2, hidden=3)", r"layers=0"),
    ("ocannl.encoder(x, layers=1, size=4, heads=2, hidden=3, epsilon=-1.0)",
     r"epsilon is -1\.0"),
    ("ocannl.causal_mask(x, 3)", r"needs a model, not a Tensor"),
    ("ocannl.linear(x, 10 ** 12).rows", r"more than 2\^32 cells"),
    ("m.predict(ocannl.einsum('a|; b| => a,b|', wide, wide))(wide=WIDE)",
     r"memory|bytes|large"),
    ("ocannl.Array()", r"missing.*'values': Array\(values, dtype='f32'\)"),
    ("ocannl.Array(X, 'f32', 3)", r"too many.*Array\(values, dtype='f32'\)"),
    ("f(x=X).tolist(1)", r"too many positional arguments: Array\.tolist\(\)"),
    ("step(x=X, y=Y).item(0)", r"too many positional.*Loss\.item\(\)"),
    ("ocannl.sum(x)", r"it is a method: x\.sum\(\)"),
    ("ocannl.matmul(x, x)", r"a @ b multiplies tensors"),
    ("ocannl.Linear(2, 4)", r"no attribute `Linear`; did you mean linear\?"),
    ("ocannl.DataLoader(X)", r"ocannl\.fit\(step, examples"),
    ("m.fit(X, Y)", r"ocannl\.fit\(step, examples"),
    ("m.train(loss, ocannl.sgd(0.1), epochs=3)", r"'epochs'.*ocannl\.fit\("),
    ("m.train(net, ocannl.sgd(0.1))", r"one cell, as \.sum\(\) and \.mean"),
    ("m.train(loss, ocannl.Optimiser(0.1, []))", r"made by functions"),
    ("ocannl.Rate('foo', 0.1)", r"no schedule \"foo\"; give constant"),
    ("ocannl.cosine(0.1, 0.0, steps=2.5)", r"`steps` is 2\.5, a float, but an"),
    ("ocannl.cosine(0.1, 0.0, 100)", r"cosine\(first, last, \*, steps"),
    ("ocannl.linear(x, 3, name='a b')", r"`a b` is not a name"),
    ("m.input('class', '4|2')", r"`class` is not a name of an input"),
    ("m[net]", r"KeyError: there is no parameter <ocannl.Tensor"),
    ("step.tune('a')", r"`seconds` is 'a', a str, but a number"),
    ("step.tune(0)", r"seconds=0; give more than 0"),
    ("m.generator(net, temperature='a')", r"`temperature` is 'a', a str"),
    ("f(x=3)", r"but `4\|2` has 1 axis beside the batch"),
    ("ocannl.Array([1, 2, 3]) + ocannl.Array([1, 2])", r"broadcast"),
    ("bool(ocannl.Array([1, 2]))", r"an array of 2 cells is not a number"),
    # Files and fit.
    ("m.save(None)", r"`path` is None, but a string or a PathLike"),
    ("m.load('damaged.npz')", r"not a whole \.npz file"),
    ("m.load('damaged.safetensors')", r"not a whole \.safetensors file"),
    ("m.load('other.npz')", r"no `mlp_layer1_w`.*it has a; give names={"),
    ("m.load('other.npz', allow_missing=True)", r"other\.npz"),
    ("m.load('wide.npz')", r"f64\[.*give convert=True"),
    ("m.load('wide.npz', layout='torch')", r"'torch'; give 'pytorch' or 'oc"),
    ("m.load('other.npz', rename='fc')", r"`rename` is 'fc', a str"),
    ("m.save('good.npz'); step.load('good.npz')", r"not of Step\.save"),
    ("other.save('none.npz')", r"call train\(\) or predict\(\) first"),
    ("ocannl.fit(step, [X, Y], batch_size=4)", r"`examples` is a list, but a d"),
    ("ocannl.fit(step, {'x': X.tolist(), 'y': Y}, batch_size=4)",
     r"`x` are a list; give an array"),
    ("ocannl.fit(loss, {'x': X, 'y': Y}, batch_size=4)",
     r"`step` is a Tensor, but a Step"),
    ("ocannl.fit(step, {'x': X, 'y': Y}, batch_size=2)", r"give 4 examples"),
    ("ocannl.fit(step, {'x': X, 'y': Y}, batch_size=4, epochs=1.5)",
     r"`epochs` is 1\.5, a float, but an integer"),
    ("ocannl.fit(step, {'x': X, 'y': Y})", r"missing.*'batch_size'"),
]

# Names that a text may have by habit, whose messages have words of C++.
HABITS = (
    "mean softmax log_softmax conv2d array wrap cross_entropy mse_loss "
    "layer_norm dropout attention backward item foo").split()


class Dlpack:
    """As a tensor of PyTorch that requires gradients."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        raise BufferError("detach it")

    def __dlpack_device__(self):
        return (1, 0)


class OnGpu(Dlpack):

    def __dlpack_device__(self):
        return (2, 0)


def scope():
    names = small_model.scope()
    interp = ocannl.Model(tier="interp")
    return {**names, "wide": names["m"].input("wide", "1000000|"),
            "interp": interp.predict(interp.input("x", "2") * 2),
            "WIDE": np.ones(1000000, F32), "copy": copy, "math": math,
            "pickle": pickle, "Dlpack": Dlpack, "OnGpu": OnGpu}


def fault_of(text, pattern, names):
    """What is wrong with the message of a mistake, or None."""
    said = small_model.said_by(text, names)
    if said is None:
        return "no exception"
    if "--verbose" in sys.argv:
        print(f"{text}\n    {said}")
    if not re.search(pattern, said, re.DOTALL):
        return said
    # Words of C++, of the tool and of the binding.
    if re.search(r"::|C\+\+|kF32|std|_native|\boptions\.| --\w|incompatible",
                 said):
        return f"words that no Python user knows: {said}"
    return None


def main():
    os.chdir(os.environ.get("TEST_TMPDIR") or tempfile.mkdtemp())
    for name in ("damaged.npz", "damaged.safetensors"):
        pathlib.Path(name).write_bytes(b"\xff" * 40)
    np.savez("other.npz", a=X)
    names = scope()
    first = float(names["step"](x=X, y=Y))
    np.savez("wide.npz", **{name: np.float64(value)
                            for name, value in names["m"].items()})
    mistakes = MISTAKES + [(f"m.parse('{name}(x)')", ".") for name in HABITS]
    faults = []
    for text, pattern in mistakes:
        fault = fault_of(text, pattern, names)
        if fault is not None:
            faults.append(f"{text}: {fault}")
        # The model is as it was.
        assert float(names["step"](x=X, y=Y)) == first, text
    assert not faults, "\n".join(faults)
    print(f"{len(mistakes)} mistakes")


main()
