# SPDX-License-Identifier: Apache-2.0
"""Optimisers and learning rates.

    step = model.train(loss, ocannl.adamw(1e-3))
    step = model.train(loss, ocannl.sgd(ocannl.cosine(0.1, 0.0, steps=1000)))
    step = model.train(loss, ocannl.sgd(model.input("rate", "1")))
    step(x=points, y=labels, rate=[0.1])

Each optimiser computes the same as PyTorch's of that name, with the same
defaults; Lion and Muon follow their papers.
"""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, List, Union

from ocannl import _native
from ocannl._errors import Error, checked, no_attribute, no_setting
from ocannl._tensor import Tensor


@dataclasses.dataclass(frozen=True)
class Rate:
    """A learning rate by the number of the step; see `cosine` and `linear`."""

    kind: str
    first: float
    last: float = 0.0
    steps: int = 1
    warmup: int = 0

    def __post_init__(self) -> None:
        if self.kind not in ("constant", "cosine", "linear"):
            raise Error(f"no schedule \"{self.kind}\"; give constant(), "
                        "cosine() or linear_rate()")
        operator.index(self.steps), operator.index(self.warmup)  # may raise
        for rate in (self.first, self.last):
            if not 0 <= rate < float("inf"):
                raise Error(f"the learning rate is {rate}; it must be finite "
                            "and not negative")
        if self.steps < 1 or self.warmup < 0:
            raise Error(f"steps={self.steps} and warmup={self.warmup}, but a "
                        "schedule has 1 step or more, and 0 of warmup or more")


# A number, a schedule, or a tensor of one cell.
RateLike = Union[float, Rate, Tensor]


@checked
def constant(rate: float, *, warmup: int = 0) -> Rate:
    """The same rate; in the first `warmup` steps it grows to that evenly."""
    return Rate("constant", rate, warmup=warmup)


@checked
def cosine(first: float, last: float, *, steps: int, warmup: int = 0) -> Rate:
    """Along half a cosine from `first` to `last` in so many steps. Loshchilov
    and Hutter, "SGDR" (2017), without restarts."""
    return Rate("cosine", first, last, steps, warmup)


@checked
def linear_rate(first: float, last: float, *, steps: int,
                warmup: int = 0) -> Rate:
    """Evenly from `first` to `last` in so many steps."""
    return Rate("linear", first, last, steps, warmup)


@dataclasses.dataclass(frozen=True)
class Optimiser:
    """What a step does with the gradients."""

    rate: Union[Rate, Tensor]
    rules: List[_native.Rule]

    def __post_init__(self) -> None:
        if not isinstance(self.rate, (Rate, Tensor)) or not self.rules:
            raise TypeError("optimisers are made by functions: "
                            "ocannl.adamw(1e-3)")

    def __getattr__(self, name: str) -> Any:
        raise no_attribute("an optimiser", name, dir(Optimiser))

    def __reduce__(self) -> Any:
        raise TypeError("an optimiser cannot be pickled or copied; call the "
                        "function that made it again")

    @checked
    def clipped(self, max_norm: float) -> Optimiser:
        """The same after all gradients together are scaled to that norm at
        most, as torch.nn.utils.clip_grad_norm_ does."""
        clip = _native.clip_by_global_norm(max_norm)
        return Optimiser(self.rate, [clip, *self.rules])


def _refuse(of: Any, name: str, value: Any = None) -> None:
    raise no_setting("an optimiser", name)


# A dataclass sets fields by object.__setattr__.
setattr(Optimiser, "__setattr__", _refuse)
setattr(Optimiser, "__delattr__", _refuse)


def _optimiser(rate: RateLike, rule: _native.Rule) -> Optimiser:
    if not isinstance(rate, (Rate, Tensor)):
        rate = Rate("constant", float(rate + 0.0))
    return Optimiser(rate, [rule])


@checked
def sgd(rate: RateLike, *, momentum: float = 0.0,
        weight_decay: float = 0.0, nesterov: bool = False) -> Optimiser:
    """Stochastic gradient descent."""
    return _optimiser(rate, _native.sgd(momentum, weight_decay, nesterov))


@checked
def adam(rate: RateLike = 1e-3, *, beta1: float = 0.9,
         beta2: float = 0.999, epsilon: float = 1e-8, weight_decay: float = 0.0,
         amsgrad: bool = False) -> Optimiser:
    """Kingma and Ba, "Adam" (2015)."""
    return _optimiser(
        rate, _native.adam(beta1, beta2, epsilon, weight_decay, amsgrad))


@checked
def adamw(rate: RateLike = 1e-3, *, beta1: float = 0.9,
          beta2: float = 0.999, epsilon: float = 1e-8,
          weight_decay: float = 1e-2, amsgrad: bool = False) -> Optimiser:
    """Loshchilov and Hutter, "Decoupled Weight Decay Regularization" (2019)."""
    return _optimiser(
        rate, _native.adamw(beta1, beta2, epsilon, weight_decay, amsgrad))


@checked
def rmsprop(rate: RateLike = 1e-2, *, alpha: float = 0.99,
            epsilon: float = 1e-8, weight_decay: float = 0.0,
            momentum: float = 0.0, centered: bool = False) -> Optimiser:
    """Tieleman and Hinton, "RMSProp" (2012)."""
    return _optimiser(
        rate, _native.rmsprop(alpha, epsilon, weight_decay, momentum, centered))


@checked
def lion(rate: RateLike = 1e-4, *, beta1: float = 0.9,
         beta2: float = 0.99, weight_decay: float = 0.0) -> Optimiser:
    """Chen et al., "Symbolic Discovery of Optimization Algorithms" (2023)."""
    return _optimiser(rate, _native.lion(beta1, beta2, weight_decay))


@checked
def muon(rate: RateLike = 1e-3, *, momentum: float = 0.95,
         weight_decay: float = 0.1, nesterov: bool = True) -> Optimiser:
    """Jordan et al., "Muon" (2024): of matrices only."""
    return _optimiser(rate, _native.muon(momentum, weight_decay, nesterov))
