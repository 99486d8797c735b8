# SPDX-License-Identifier: Apache-2.0
"""Learns XOR, and tells what it makes of each pair of bits."""

import numpy as np

import ocannl

PAIRS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32)

model = ocannl.Model(seed=1)
x = model.input("x", "4|2")  # batch|output
y = model.input("y", "4|1")
net = ocannl.mlp(x, [8, 1])
step = model.train(ocannl.mean_squared_error(net, y), ocannl.sgd(0.1))

for _ in range(1000):
    step(x=PAIRS, y=[[0], [1], [1], [0]])
print(f"loss {step(x=PAIRS, y=[[0], [1], [1], [0]]):.1e}")

predict = model.predict(net)  # takes any batch
for pair in PAIRS:
    print(pair, "->", round(float(predict(x=pair)), 3))
