# SPDX-License-Identifier: Apache-2.0
"""fit: a training loop over arrays of examples."""

from __future__ import annotations

import random
from typing import Any, Callable, Dict, List, Optional

from ocannl._errors import Error, a, checked
from ocannl._handles import Step


@checked
def fit(step: Step, examples: Dict[str, Any], *, batch_size: int,
        epochs: int = 1, shuffle: bool = True, seed: int = 1,
        after_epoch: Optional[Callable[[int, float], Any]] = None,
        first_epoch: int = 0) -> List[float]:
    """Runs `step` on batches of examples and returns the mean loss of each
    epoch.

    `examples` maps each input to an array of NumPy, PyTorch or JAX whose first
    axis counts the examples. Examples that fill no batch are left out: others
    in each epoch if they are shuffled. `after_epoch` is called with the number
    of the epoch, from 0, and its mean loss. If it returns False, the training
    ends. A training that goes on from a file begins at `first_epoch`, with the
    orders of the epochs from there on.
    """
    for name, array in examples.items():
        if not getattr(array, "shape", ()):
            raise Error(f"the examples of `{name}` are "
                        f"{a(type(array).__name__)}; give an array, as by "
                        "numpy.array(..., \"float32\")")
    if epochs < 0 or first_epoch < 0:
        raise Error(f"epochs={epochs} and first_epoch={first_epoch}; give 0 or "
                    "more")
    lengths = {name: len(array) for name, array in examples.items()}
    if not lengths or len(set(lengths.values())) != 1:
        raise Error(f"the arrays of examples have the lengths {lengths}; give "
                    "arrays of one length")
    length = next(iter(lengths.values()))
    if not 1 <= batch_size <= length:
        raise Error(f"batch_size={batch_size}, but there are {length} examples")
    import numpy  # JAX takes arrays of indices, and no lists

    order = list(range(length))
    draw = random.Random(seed)
    means = []
    for epoch in range(first_epoch + epochs):
        if shuffle:
            draw.shuffle(order)
        if epoch < first_epoch:
            continue
        losses = []
        for begin in range(0, length - batch_size + 1, batch_size):
            batch = numpy.array(order[begin:begin + batch_size])
            losses.append(step(**{name: array[batch]
                                  for name, array in examples.items()}))
        means.append(sum(map(float, losses)) / len(losses))
        if after_epoch is not None:
            goes_on = after_epoch(epoch, means[-1])
            if isinstance(goes_on, (bool, numpy.bool_)) and not goes_on:
                break
    return means
