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

from ocannl._errors import Error
from ocannl._native import Array, Loss
from ocannl.blocks import *  # noqa: F403
from ocannl.fit import fit
from ocannl.functions import *  # noqa: F403
from ocannl.model import Model, Predictor, Step
from ocannl.optim import (Optimiser, Rate, adam, adamw, constant, cosine,
                          linear_rate, lion, muon, rmsprop, sgd)
from ocannl.tensor import Tensor, concat, einmax, einsum
