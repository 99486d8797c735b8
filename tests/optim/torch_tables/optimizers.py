#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes optimizers.csv: a parameter after 100 steps of PyTorch's optimisers.

  pip install torch && tests/optim/torch_tables/optimizers.py > \
      tests/optim/torch_tables/optimizers.csv

The gradient is scale * (w - goal), product and difference rounded to f32.
tests/optim/rules_test.cc makes the same steps. Each rule is that of one tensor
at a time (foreach=False); Lion, which PyTorch lacks, is that of its paper.
"""

import torch

SCALE = torch.tensor([1, 0.1, 10, 0.01, 3])
GOAL = torch.tensor([3, -3.5, 3.5, 4, -5])
O = torch.optim


class Lion(torch.optim.Optimizer):
    """Algorithm 2 of Chen et al., 2023, in the steps of PyTorch's Adam."""

    def __init__(self, params, lr, betas, weight_decay, foreach):
        super().__init__(params, dict(lr=lr, betas=betas, decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                sign = m.lerp(p.grad, 1 - beta1).sign_()
                m.lerp_(p.grad, 1 - beta2)
                p.sub_(group["lr"] * sign.add_(group["decay"] * p))


CASES = [
    ("sgd", O.SGD, dict(lr=0.01, momentum=0.9, weight_decay=0.01)),
    ("nesterov", O.SGD, dict(lr=0.01, momentum=0.9, nesterov=True)),
    ("adam", O.Adam, dict(lr=0.05)),
    ("adam_decay", O.Adam, dict(lr=0.05, betas=(0.8, 0.999),
                                weight_decay=0.1)),
    ("amsgrad", O.Adam, dict(lr=0.05, amsgrad=True)),
    ("adamw", O.AdamW, dict(lr=0.05, betas=(0.9, 0.95), weight_decay=0.1)),
    ("adamw_default", O.AdamW, dict(lr=0.05)),
    ("rmsprop", O.RMSprop, dict(lr=0.01)),
    ("rmsprop_centered", O.RMSprop,
     dict(lr=0.01, alpha=0.9, weight_decay=0.01, momentum=0.9,
          centered=True)),
    ("adagrad", O.Adagrad, dict(lr=0.1, lr_decay=0.01, weight_decay=0.01)),
    ("adadelta", O.Adadelta, dict(lr=1.0, weight_decay=0.01)),
    ("lion", Lion, dict(lr=0.01, betas=(0.9, 0.99), weight_decay=0.1)),
]


def after(steps, optimizer, options):
    w = torch.tensor([2.5, -4, 3, 5, -6], requires_grad=True)
    rule = optimizer([w], foreach=False, **options)
    for _ in range(steps):
        with torch.no_grad():
            w.grad = SCALE * (w - GOAL)
        rule.step()
    return w.detach()


print(f"# PyTorch {torch.__version__}, tests/optim/torch_tables/optimizers.py")
for name, optimizer, options in CASES:
    row = after(100, optimizer, options)
    print(",".join([name] + [f"{value:.9g}" for value in row.tolist()]))
