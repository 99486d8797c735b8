# SPDX-License-Identifier: Apache-2.0
"""Tensor: an expression of a model.

    y = ocannl.relu(w @ x + b)          # @ multiplies tensors, * is pointwise

Nothing is computed here. `Model.train` and `Model.predict` compile what an
expression says. Sizes that it leaves open are inferred from its uses.
"""

from __future__ import annotations

import html
import numbers
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union

from ocannl import _native
from ocannl._errors import Error, here, plain_type_errors

Operand = Union["Tensor", int, float]
# Makes the node of an expression in a graph from those of its operands. It is
# told whether the expression is trained.
Apply = Callable[[List[_native.Node], bool], _native.Node]


class Tensor:
    """A tensor expression. Made by a `Model`, and by operations on tensors.

    A shape is written batch|input->output, as "10|2" or "2->16".
    """

    __slots__ = ("model", "parents", "input", "_apply", "_node", "__weakref__")
    __array_ufunc__ = None  # NumPy leaves operators to this class

    def __init__(self, model: Any, parents: Sequence[Tensor], apply: Apply,
                 input: Optional[Tuple[str, str, str]] = None) -> None:
        self.model = model
        self.parents = tuple(parents)
        self.input = input  # its name, rows and dtype
        self._apply = apply
        with plain_type_errors():
            self._node = apply([parent._node for parent in parents], True)

    @property
    def name(self) -> str:
        return self._node.name

    @property
    def dtype(self) -> str:
        """The name of the dtype, such as "f32"."""
        return self._node.dtype

    @property
    def rows(self) -> str:
        """The shape as batch|input->output. Error: uses leave it open."""
        return self._node.rows()

    @property
    def shape(self) -> Tuple[int, ...]:
        """The sizes in memory order: batch, output, input axes."""
        return tuple(self._node.dims())

    def named(self, name: str) -> Tensor:
        """The tensor, with a name for messages and for texts (Model.parse); a
        number is put behind a name that is taken."""
        self._node.rename(name)
        self.model._by_name[self._node.name] = self
        return self

    def sum(self, spec: Optional[str] = None) -> Tensor:
        """The sum over all cells, or over the axes that `spec` leaves out."""
        if spec is not None:
            return einsum(spec, self)
        return apply_native(_native.sum, self)

    def mean(self, spec: Optional[str] = None) -> Tensor:
        """The mean, likewise."""
        return apply_native(lambda x, at: _native.mean(x, spec, at), self)

    def max(self, spec: str) -> Tensor:
        """The greatest cells along the axes that `spec` leaves out."""
        return einmax(spec, self)

    def reshape(self, rows: str) -> Tensor:
        """The cells in memory order in another shape; "_" is the size that the
        others leave."""
        return apply_native(lambda x, at: _native.reshape(x, rows, at), self)

    def to(self, dtype: str) -> Tensor:
        """The cells as another dtype: exact, or rounded to nearest even."""
        return apply_native(lambda x, at: _native.convert(x, dtype, at), self)

    def detach(self) -> Tensor:
        """The same tensor, through which no gradient flows."""
        return apply_native(_native.stop_gradient, self)

    def __matmul__(self, other: Operand) -> Tensor:
        return _compose(self, other)

    def __rmatmul__(self, other: Operand) -> Tensor:
        return _compose(other, self)

    def __bool__(self) -> bool:
        raise TypeError("a tensor has no value before it is computed: use "
                        "ocannl.where(condition, a, b), or predict()")

    def __iter__(self) -> Any:
        raise TypeError("a tensor cannot be iterated over; ocannl.part() takes "
                        "some of its cells")

    # Comparisons make tensors, so that identity decides what is a key.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<ocannl.Tensor {self._node.name}: {self._node.text}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._node.tree())}</pre>"


def number(value: Any) -> Union[int, float]:
    """`value` as a number of an expression."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # of NumPy or PyTorch
        if isinstance(value, (bool, int, float)):
            return value
    raise TypeError(
        f"a {type(value).__name__} is not a tensor or a number; make an array "
        "part of the model by model.constant(name, array, rows)")


def apply_native(make: Callable[..., _native.Node], *operands: Any) -> Tensor:
    """The tensor make(*nodes, where). Operands that are no tensors stay."""
    parents = [each for each in operands if isinstance(each, Tensor)]
    if not parents:
        raise TypeError("none of the operands is a tensor")
    model = parents[0].model
    for parent in parents:
        if parent.model is not model:
            raise Error(f"`{parent.name}` and `{parents[0].name}` are tensors "
                        "of two models; build an expression in one of them")
    where = _native.Where(*here())

    def apply(nodes: List[_native.Node], training: bool) -> _native.Node:
        del training
        left = iter(nodes)
        return make(*[next(left) if isinstance(each, Tensor) else each
                      for each in operands], where)

    return Tensor(model, parents, apply)


def pointwise(op: str, *operands: Operand) -> Tensor:
    """The operation of that name on each cell; operands broadcast."""
    each = [x if isinstance(x, Tensor) else number(x) for x in operands]
    model = model_of(each)
    return apply_native(
        lambda *args: _native.pointwise(model._session, op, list(args[:-1]),
                                        args[-1]), *each)


def model_of(operands: Sequence[Any]) -> Any:
    """The model of the first tensor."""
    for each in operands:
        if isinstance(each, Tensor):
            return each.model
    raise TypeError("none of the operands is a tensor")


def _compose(a: Operand, b: Operand) -> Tensor:
    each = [x if isinstance(x, Tensor) else number(x) for x in (a, b)]
    model = model_of(each)
    return apply_native(
        lambda x, y, at: _native.compose(model._session, x, y, at), *each)


def _reduce(op: Optional[str], accum: str, spec: str, operands: Sequence[Any],
            sizes: Any) -> Tensor:
    model = model_of(operands)
    return apply_native(
        lambda *args: _native.reduce(model._session, op, accum, spec,
                                     list(args[:-1]), sizes, args[-1]),
        *operands)


def einsum(spec: str, *tensors: Tensor, **sizes: float) -> Tensor:
    """The sum of products over the axes that the result of `spec` leaves out.

        einsum("b|i; i->o => b|o", x, w)
        einsum("...|... => 0", x)               # the sum of all cells
    """
    op = "*" if len(tensors) > 1 else None
    return _reduce(op, "+", spec, tensors, sizes)


def einmax(spec: str, *tensors: Tensor, **sizes: float) -> Tensor:
    """The greatest cell, or of two tensors the greatest sum, likewise."""
    op = "+" if len(tensors) > 1 else None
    return _reduce(op, "max", spec, tensors, sizes)


def concat(spec: str, *tensors: Tensor, **sizes: float) -> Tensor:
    """Tensors one behind the other: concat("...|a; ...|b => ...|a^b", x, y)."""
    return _reduce(None, "+", spec, tensors, sizes)


_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%",
              "pow": "pow", "and": "&", "or": "|", "xor": "^", "lshift": "<<",
              "rshift": ">>"}
_COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}


def _operator(op: str, reverse: bool) -> Callable[..., Tensor]:
    def operator(self: Tensor, other: Operand) -> Tensor:
        return pointwise(op, other, self) if reverse else pointwise(op, self,
                                                                    other)
    return operator


for _name, _op in {**_OPERATORS, **_COMPARISONS}.items():
    setattr(Tensor, f"__{_name}__", _operator(_op, False))
    if _name in _OPERATORS:
        setattr(Tensor, f"__r{_name}__", _operator(_op, True))
Tensor.__gt__ = _operator("<", True)  # type: ignore[assignment]
Tensor.__ge__ = _operator("<=", True)  # type: ignore[assignment]
Tensor.__neg__ = lambda self: pointwise("neg", self)  # type: ignore
Tensor.__abs__ = lambda self: pointwise("abs", self)  # type: ignore
Tensor.__invert__ = lambda self: pointwise("not", self)  # type: ignore
Tensor.__hash__ = object.__hash__  # type: ignore[assignment]
