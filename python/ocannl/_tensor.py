# SPDX-License-Identifier: Apache-2.0
"""Tensor: an expression of a model.

    y = ocannl.relu(w @ x + b)          # @ multiplies tensors, * is pointwise

Nothing is computed here. `Model.train` and `Model.predict` compile what an
expression says. Sizes that it leaves open are inferred from its uses.
"""

from __future__ import annotations

import html
import inspect
import numbers
import re
from typing import (TYPE_CHECKING, Any, Callable, List, NoReturn, Optional,
                    Sequence, Tuple, Union)

from ocannl import _native
from ocannl._errors import (Closed, Error, Sizes, Text, a, checked, here,
                            hint_of)

Operand = Union["Tensor", int, float]
# Makes the node of an expression in a graph from those of its operands. It is
# told whether the expression is trained.
Apply = Callable[[List[_native.Node], bool], _native.Node]


class Tensor(Closed):
    """A tensor expression. Made by a `Model`, and by operations on tensors.

    A shape is written batch|input->output, as "10|2" or "2->16".
    """

    __slots__ = ("model", "parents", "input", "_block", "_apply", "_node",
                 "__weakref__")
    _kind = "a tensor"

    def __init__(self, model: Any, parents: Sequence[Tensor] = (),
                 apply: Optional[Apply] = None,
                 input: Optional[Tuple[str, str, str]] = None) -> None:
        if apply is None:
            raise TypeError(
                "tensors are made by a model: model.input(name, rows) is an "
                "array of each call, model.constant(name, values, rows) one "
                "that stays")
        self.model = model
        self.parents = tuple(parents)
        self.input = input  # its name, rows and dtype
        # What continues sequences, if it is the logits of a language model.
        self._block: Optional[_native.Block] = None
        self._apply = apply
        with model._lock:
            self._node = apply([parent._node for parent in parents], True)

    @property
    def name(self) -> str:
        """Its name in messages and texts."""
        with self.model._lock:
            return Text(self._node.name)

    @property
    def dtype(self) -> str:
        """The name of the dtype, such as "f32"."""
        with self.model._lock:
            return Text(self._node.dtype)

    @property
    def rows(self) -> str:
        """The shape as batch|input->output. Error: uses leave it open."""
        with self.model._lock:
            return Text(self._node.rows())

    @property
    def shape(self) -> Tuple[int, ...]:
        """The sizes in memory order: batch, output, input axes."""
        with self.model._lock:
            return Sizes(self._node.dims())

    @checked
    def named(self, name: str) -> Tensor:
        """The tensor, with a name for messages and for texts (Model.parse); a
        number is put behind a name that is taken."""
        check_name(name)
        with self.model._lock:
            self._node.rename(name)
            self.model._by_name[self._node.name] = self
        return self

    @checked
    def sum(self, spec: Optional[str] = None) -> Tensor:
        """The sum over all cells, or over the axes that `spec` leaves out."""
        if spec is not None:
            return einsum(spec, self)
        return apply_native(_native.sum, self)

    @checked
    def mean(self, spec: Optional[str] = None) -> Tensor:
        """The mean, likewise."""
        return apply_native(lambda x, at: _native.mean(x, spec, at), self)

    @checked
    def max(self, spec: str) -> Tensor:
        """The greatest cells along the axes that `spec` leaves out."""
        return einmax(spec, self)

    @checked
    def reshape(self, rows: str) -> Tensor:
        """The cells in memory order in another shape; "_" is the size that the
        others leave."""
        return apply_native(lambda x, at: _native.reshape(x, rows, at), self)

    @checked
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
                        "ocannl.where(condition, a, b) or predict(); `is` "
                        "tells whether two tensors are the same")

    def __float__(self) -> float:
        raise TypeError(_NO_VALUE)

    def __int__(self) -> int:
        raise TypeError(_NO_VALUE)

    def __index__(self) -> int:
        raise TypeError(_NO_VALUE)

    def __len__(self) -> int:
        raise TypeError(f"a tensor has no len(); the shape of `{self.name}` is "
                        f"{self.shape}")

    def __iter__(self) -> Any:
        raise TypeError("a tensor cannot be iterated over; ocannl.part() takes "
                        "some of its cells")

    def __getitem__(self, key: Any) -> Any:
        raise TypeError("a tensor has no indices in brackets: ocannl.part("
                        "\"...|i\", x, start, size) takes cells along an axis, "
                        "ocannl.gather() those that a tensor names")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("a tensor is an expression, and its cells cannot be "
                        "assigned: ocannl.where(condition, a, b) chooses cells")

    def __floordiv__(self, other: Operand) -> Tensor:
        raise TypeError("tensors have no `//`: ocannl.floor(a / b) is the same")

    def __round__(self, digits: int = 0) -> Tensor:
        raise TypeError("ocannl.round(x) rounds to whole numbers")

    def __pos__(self) -> Tensor:
        return self

    def __call__(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError("a tensor is not a function: f = model.predict(tensor) "
                        "is one, f(x=array); layers are functions of a tensor: "
                        "ocannl.linear(x, 64)")

    def __reduce__(self) -> Any:
        raise TypeError("a tensor is a part of its model, which cannot be "
                        "pickled or copied: save parameters by "
                        "model.save(path)")

    # NumPy.

    def __array__(self, *options: Any, **more: Any) -> Any:
        raise TypeError(_NO_VALUE)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any,
                        **options: Any) -> Tensor:
        """Operators and functions of NumPy, of tensors and numbers."""
        op = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if op in ("greater", "greater_equal"):
            op, inputs = ("<", "<=")[op == "greater_equal"], inputs[::-1]
        for each in inputs:
            if getattr(each, "ndim", 0) > 0 and not isinstance(each, Tensor):
                number(each)  # raises
        if method != "__call__" or options or op not in _OPS:
            raise _not_of_numpy(ufunc.__name__)
        if op == "matmul":
            return _compose(*inputs)
        return pointwise(op, *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any,
                           options: Any) -> Any:
        raise _not_of_numpy(function.__name__)

    # Comparisons make tensors, so that identity decides what is a key.
    __hash__ = object.__hash__

    if TYPE_CHECKING:  # made below
        _node: _native.Node

        def __add__(self, other: Operand) -> Tensor: ...

        def __radd__(self, other: Operand) -> Tensor: ...

        def __sub__(self, other: Operand) -> Tensor: ...

        def __rsub__(self, other: Operand) -> Tensor: ...

        def __mul__(self, other: Operand) -> Tensor: ...

        def __rmul__(self, other: Operand) -> Tensor: ...

        def __truediv__(self, other: Operand) -> Tensor: ...

        def __rtruediv__(self, other: Operand) -> Tensor: ...

        def __mod__(self, other: Operand) -> Tensor: ...

        def __rmod__(self, other: Operand) -> Tensor: ...

        def __pow__(self, other: Operand) -> Tensor: ...

        def __rpow__(self, other: Operand) -> Tensor: ...

        def __and__(self, other: Operand) -> Tensor: ...

        def __rand__(self, other: Operand) -> Tensor: ...

        def __or__(self, other: Operand) -> Tensor: ...

        def __ror__(self, other: Operand) -> Tensor: ...

        def __xor__(self, other: Operand) -> Tensor: ...

        def __rxor__(self, other: Operand) -> Tensor: ...

        def __lshift__(self, other: Operand) -> Tensor: ...

        def __rlshift__(self, other: Operand) -> Tensor: ...

        def __rshift__(self, other: Operand) -> Tensor: ...

        def __rrshift__(self, other: Operand) -> Tensor: ...

        def __lt__(self, other: Operand) -> Tensor: ...

        def __le__(self, other: Operand) -> Tensor: ...

        def __gt__(self, other: Operand) -> Tensor: ...

        def __ge__(self, other: Operand) -> Tensor: ...

        def __eq__(  # type: ignore[override]
            self, other: Operand) -> Tensor: ...

        def __ne__(  # type: ignore[override]
            self, other: Operand) -> Tensor: ...

        def __neg__(self) -> Tensor: ...

        def __abs__(self) -> Tensor: ...

        def __invert__(self) -> Tensor: ...

    def __repr__(self) -> str:
        with self.model._lock:
            return f"<ocannl.Tensor {self._node.name}: {self._node.text}>"

    def _repr_html_(self) -> str:
        with self.model._lock:
            return f"<pre>{html.escape(self._node.tree())}</pre>"


def _not_of_numpy(name: str) -> TypeError:
    if inspect.isfunction(vars(Tensor).get(name)):
        hint = f"x.{name}() does"
    else:
        hint = (hint_of("a tensor", name) or
                "operators and functions of ocannl do")
    return TypeError(f"numpy.{name}() does not take tensors; {hint}")


_NO_VALUE = ("a tensor has no value before it is computed: "
             "model.predict(tensor)(...) computes it")
# NumPy's names of operations that have others in the notation.
_UFUNCS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/",
           "fmod": "%", "power": "pow", "negative": "neg", "absolute": "abs",
           "less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!=",
           "arcsin": "asin", "arccos": "acos", "arctan": "atan",
           "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
           "arctan2": "atan2", "rint": "round", "reciprocal": "recip"}
_OPS = {name for name, _ in _native.operations()} | {"matmul"}


def check_name(name: str) -> None:
    """Raises Error: texts of the notation cannot have the name."""
    if not re.fullmatch(r"[A-Za-z_][\w.]*", name, re.ASCII):
        raise Error(f"`{name}` is not a name; give letters, digits and `_`")


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
    fix = ("; make an array part of the model by "
           "model.constant(name, array, rows)"
           if hasattr(value, "__array__") or
           isinstance(value, (list, tuple)) else "")
    raise TypeError(
        f"{a(type(value).__name__)} is not a tensor or a number{fix}")


def apply_native(make: Callable[..., _native.Node], *operands: Any) -> Tensor:
    """The tensor make(*nodes, where). Operands that are no tensors stay."""
    model = model_of(operands)
    parents = [each for each in operands if isinstance(each, Tensor)]
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
    return apply_mixed(
        lambda session, *args: _native.pointwise(session, op, list(args[:-1]),
                                                 args[-1]), *operands)


def apply_mixed(make: Callable[..., _native.Node],
                *operands: Operand) -> Tensor:
    """The tensor make(session, *nodes and numbers, where)."""
    each = [x if isinstance(x, Tensor) else number(x) for x in operands]
    session = model_of(each)._session
    return apply_native(lambda *args: make(session, *args), *each)


def model_of(operands: Sequence[Any]) -> Any:
    """The model of the first tensor."""
    for each in operands:
        if isinstance(each, Tensor):
            return each.model
    raise TypeError("none of the operands is a tensor")


def _compose(a: Operand, b: Operand) -> Tensor:
    return apply_mixed(_native.compose, a, b)


def _reduce(op: Optional[str], accum: str, spec: str, operands: Sequence[Any],
            sizes: Any) -> Tensor:
    model = model_of(operands)
    for name in sizes:
        if not re.search(rf"\b{name}\b", spec):
            raise Error(f"the spec \"{spec}\" has no axis `{name}`")
    return apply_native(
        lambda *args: _native.reduce(model._session, op, accum, spec,
                                     list(args[:-1]), sizes, args[-1]),
        *operands)


@checked
def einsum(spec: str, *tensors: Tensor, **sizes: float) -> Tensor:
    """The sum of products over the axes that the result of `spec` leaves out.

        einsum("b|i; i->o => b|o", x, w)
        einsum("...|... => 0", x)               # the sum of all cells
    """
    op = "*" if len(tensors) > 1 else None
    return _reduce(op, "+", spec, tensors, sizes)


@checked
def einmax(spec: str, *tensors: Tensor, **sizes: float) -> Tensor:
    """The greatest cell, or of two tensors the greatest sum, likewise."""
    op = "+" if len(tensors) > 1 else None
    return _reduce(op, "max", spec, tensors, sizes)


@checked
def concat(spec: str, *tensors: Tensor, **sizes: float) -> Tensor:
    """Tensors one behind the other: concat("...|a; ...|b => ...|a^b", x, y)."""
    return _reduce(None, "+", spec, tensors, sizes)


_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%",
              "pow": "pow", "and": "&", "or": "|", "xor": "^", "lshift": "<<",
              "rshift": ">>"}
_COMPARISONS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!="}


def _operator(op: str, reverse: bool) -> Callable[..., Tensor]:
    def operator(self: Tensor, other: Operand) -> Tensor:
        if reverse:
            return pointwise(op, other, self)
        return pointwise(op, self, other)

    operator.__doc__ = f"Pointwise `{op}`; operands broadcast."
    return operator


def _of_one(op: str) -> Callable[[Tensor], Tensor]:
    def operator(self: Tensor) -> Tensor:
        return pointwise(op, self)

    operator.__doc__ = f"Pointwise `{op}`."
    return operator


for _name, _op in {**_OPERATORS, **_COMPARISONS}.items():
    setattr(Tensor, f"__{_name}__", _operator(_op, False))
    if _name in _OPERATORS:
        setattr(Tensor, f"__r{_name}__", _operator(_op, True))
for _name, _op in {"gt": "<", "ge": "<="}.items():
    setattr(Tensor, f"__{_name}__", _operator(_op, True))
for _name, _op in {"neg": "neg", "abs": "abs", "invert": "not"}.items():
    setattr(Tensor, f"__{_name}__", _of_one(_op))
