# SPDX-License-Identifier: Apache-2.0
"""A training that is stopped and goes on has the bits of one that is not."""

import os
import tempfile

import numpy as np

import ocannl


def make() -> tuple[ocannl.Model, ocannl.Step]:
    model = ocannl.Model(seed=1)
    x, y = model.input("x", "16|4"), model.input("y", "16|1")
    net = ocannl.mlp(ocannl.dropout(x, 0.1), [32, 1])
    loss = ocannl.mean_squared_error(net, y)
    return model, model.train(loss, ocannl.adamw(1e-2))


rng = np.random.default_rng(1)
X = rng.standard_normal((16, 4)).astype(np.float32)
Y = X.sum(1, keepdims=True)

whole, step = make()
for _ in range(100):
    step(x=X, y=Y)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "training.npz")
    stopped, step = make()
    for _ in range(60):
        step(x=X, y=Y)
    step.save(path)

    resumed, step = make()
    step.load(path)
    for _ in range(40):
        step(x=X, y=Y)

print(whole.params_hash(), resumed.params_hash())
assert whole.params_hash() == resumed.params_hash()
