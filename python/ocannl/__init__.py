# SPDX-License-Identifier: Apache-2.0
"""Tensor expressions, gradients and a just-in-time compiler.

    import numpy as np
    import ocannl

    model = ocannl.Model(seed=1)
    x = model.input("x", "4|2")
    y = model.input("y", "4|1")
    scores = ocannl.mlp(x, [8, 1])
    step = model.train(ocannl.mean_squared_error(scores, y), ocannl.sgd(0.1))
    points = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)
    for _ in range(1000):
        loss = step(x=points, y=[[0], [1], [1], [0]])
    print(float(loss), model.predict(scores)(x=points).tolist())

Shapes are written batch|input->output. Arrays come from NumPy, PyTorch, JAX and
others that have the buffer protocol or DLPack, on the host. The bits of results
are those of the C++ library, on every tier and with any number of threads.
"""

from typing import Any

from ocannl import _blocks, _errors, _functions, _values, onnx  # noqa: F401
from ocannl._blocks import *  # noqa: F403
from ocannl._errors import Error
from ocannl._fit import fit
from ocannl._functions import *  # noqa: F403
from ocannl._handles import Generator, Predictor, Step
from ocannl._model import Model, device_count, tiers
from ocannl._native import Array, Loss
from ocannl._optim import (Optimiser, Rate, adam, adamw, constant, cosine,
                           linear_rate, lion, muon, rmsprop, sgd)
from ocannl._tensor import Tensor, concat, einmax, einsum
from ocannl._text import SentenceEncoder, WordPiece, bert_rules

__all__ = ["Array", "Error", "Generator", "Loss", "Model", "Optimiser",
           "Predictor", "Rate", "SentenceEncoder", "Step", "Tensor",
           "WordPiece", "adam", "adamw", "bert_rules", "concat", "constant",
           "cosine", "device_count", "einmax", "einsum", "fit", "linear_rate",
           "lion", "muon", "onnx", "rmsprop", "sgd", "tiers"]
__all__ += _blocks.__all__
__all__ += _functions.__all__


def __getattr__(name: str) -> Any:
    raise _errors.no_attribute("ocannl", name, __all__)


# Messages and documentation name things as users import them.
for _name, _value in list(globals().items()):
    if not _name.startswith("_") and getattr(
            _value, "__module__", "").startswith("ocannl._"):
        _value.__module__ = "ocannl"
