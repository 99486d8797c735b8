# SPDX-License-Identifier: Apache-2.0
"""A small model, and programs of one line that use it."""

import traceback

import numpy as np

import ocannl

F32 = np.float32
X, Y = np.ones((4, 2), F32), np.ones((4, 1), F32)


def scope():
    """`m` is a model with inputs x : 4|2, y : 4|1 and ids : 4|; `net` is a
    perceptron of x, `loss` its loss, `step` its training, `f` its prediction
    and `opt` an optimiser. `other` is a model without tensors."""
    m, other = ocannl.Model(), ocannl.Model()
    x, y = m.input("x", "4|2"), m.input("y", "4|1")
    net = ocannl.mlp(x, [8, 1])
    loss = ocannl.mean_squared_error(net, y)
    opt = ocannl.sgd(0.0)
    return {"m": m, "other": other, "x": x, "y": y, "net": net, "loss": loss,
            "ids": m.input("ids", "4|", "i32"), "opt": opt,
            "step": m.train(loss, opt), "f": m.predict(net),
            "ocannl": ocannl, "np": np, "X": X, "Y": Y, "F32": F32}


def said_by(text, names):
    """The exception that a text raises, as Python shows it; None: it raises
    none."""
    try:
        exec(compile(text, "user.py", "exec"), dict(names))
    except Exception as error:
        return "".join(traceback.format_exception_only(error)).strip()
    return None
