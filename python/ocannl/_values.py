# SPDX-License-Identifier: Apache-2.0
"""What can be done with results: operators and conversions of ocannl.Array and
ocannl.Loss, by NumPy and as a number."""

from __future__ import annotations

import operator
from typing import Any, Callable, Tuple

from ocannl import _native
from ocannl._errors import Sizes, Text, checked, no_attribute, no_setting
from ocannl._native import Array, Loss

_ARITHMETIC = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod",
               "pow")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


def _numpy(array: Array) -> Any:
    """The array of NumPy that shares its memory. NumPy's dtypes of narrow
    floats are those of the package ml_dtypes."""
    import numpy

    if array.dtype not in _NARROW:
        return numpy.asarray(memoryview(array))
    import ml_dtypes  # type: ignore[import-not-found, unused-ignore]

    dtype = getattr(ml_dtypes, _NARROW[array.dtype])
    return numpy.frombuffer(_native.bytes_of(array), dtype).reshape(array.shape)


_NARROW = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
           "f8e5m2": "float8_e5m2"}


def _array(array: Array, dtype: Any = None, copy: Any = None) -> Any:
    """The protocol of NumPy, for dtypes that buffers do not have."""
    import numpy

    if copy is None:  # which NumPy 1 refuses
        return numpy.asarray(_numpy(array), dtype)
    return numpy.array(_numpy(array), dtype, copy=copy)


def _number(value: Any) -> Any:
    """A loss as the number that it is."""
    return float(value) if isinstance(value, Loss) else value


def _of_array(name: str) -> Callable[..., Any]:
    apply = getattr(operator, name)
    return lambda self, other: apply(_numpy(self), other)


def _of_loss(name: str) -> Callable[..., Any]:
    apply = getattr(operator, name)
    return lambda self, other: apply(float(self), _number(other))


def _reversed(name: str) -> Tuple[Callable[..., Any], Callable[..., Any]]:
    apply = getattr(operator, name)
    return (lambda self, other: apply(other, _numpy(self)),
            lambda self, other: apply(_number(other), float(self)))


def _restored(contents: bytes, dtype: str, shape: Tuple[int, ...]) -> Array:
    return _native.array_of_bytes(contents, dtype, list(shape))


def _item(array: Array) -> Any:
    """The only cell, as a number of Python."""
    float(array)  # raises
    cell = _to_list(array)
    while isinstance(cell, list):
        cell = cell[0]
    return cell


_init, _to_list = Array.__init__, Array.tolist
_shape = Array.shape.fget  # type: ignore[attr-defined]
_dtype = Array.dtype.fget  # type: ignore[attr-defined]


def _array_init(self: Array, values: Any, dtype: str = "f32") -> None:
    _init(self, values, dtype)


def _tolist(self: Array) -> Any:
    """The cells as lists in lists of numbers."""
    return _to_list(self)


def _loss_item(self: Loss) -> float:
    """The number."""
    return float(self)


def _set_cell(array: Array, key: Any, value: Any) -> None:
    raise TypeError("an ocannl.Array is a result, and a parameter's is a copy: "
                    "change w = numpy.array(model[name]), and assign "
                    "model[name] = w")


# They would change a copy.
_CHANGE = ("byteswap", "fill", "itemset", "partition", "put", "resize",
           "setfield", "setflags", "sort")


def _array_attribute(array: Array, name: str) -> Any:
    """Those of NumPy."""
    if name.startswith("_"):
        raise AttributeError(name)
    if name in _CHANGE:
        _set_cell(array, None, None)
    try:
        return getattr(_numpy(array), name)
    except AttributeError:
        pass
    raise no_attribute("an ocannl.Array", name)


def _array_setting(array: Array, name: str, value: Any) -> None:
    raise no_setting("an ocannl.Array", name)


def _loss_attribute(loss: Loss, name: str) -> Any:
    raise no_attribute("a loss", name, ("item",))


def _loss_setting(loss: Loss, name: str, value: Any) -> None:
    raise no_setting("a loss", name)


def _no_items(loss: Loss, *args: Any) -> Any:
    raise TypeError("a loss is one number: float(loss)")


def _add(kind: Any, **methods: Any) -> None:
    for name, method in methods.items():
        setattr(kind, name, method)


def _add_checked(kind: Any, **methods: Callable[..., Any]) -> None:
    for name, method in methods.items():
        method.__qualname__ = f"{kind.__name__}.{name}"
        setattr(kind, name, checked(method))


for _name in _ARITHMETIC + _COMPARISONS:
    _add(Array, **{f"__{_name}__": _of_array(_name)})
    _add(Loss, **{f"__{_name}__": _of_loss(_name)})
for _name in _ARITHMETIC:
    _reverse = _reversed(_name)
    _add(Array, **{f"__r{_name}__": _reverse[0]})
    _add(Loss, **{f"__r{_name}__": _reverse[1]})
_add(Array, __doc__="""An array on the host that Python owns: what predictions
and parameters are. numpy.asarray(array) and torch.from_dlpack(array) share its
memory; operators and indices are those of NumPy. Array(values, dtype) is a copy
of the values.""",
     shape=property(lambda self: Sizes(_shape(self)),
                    doc="The sizes in memory order: batch, output and input "
                    "axes."),
     dtype=property(lambda self: Text(_dtype(self)),
                    doc="The name of the dtype, such as \"f32\"."),
     __array__=_array, __hash__=None,
     __int__=lambda self: int(_item(self)),
     __bool__=lambda self: bool(_item(self)),
     __iter__=lambda self: iter(_numpy(self)),
     __neg__=lambda self: -_numpy(self),
     __abs__=lambda self: abs(_numpy(self)),
     __getitem__=lambda self, key: _numpy(self)[key], __setitem__=_set_cell,
     __format__=lambda self, spec: format(_item(self) if spec else repr(self),
                                          spec),
     __reduce__=lambda self: (_restored, (_native.bytes_of(self), self.dtype,
                                          self.shape)),
     __getattr__=_array_attribute, __setattr__=_array_setting)
_add_checked(Array, __init__=_array_init, tolist=_tolist, numpy=_numpy,
             item=_item)
_add(Loss, __doc__="""The loss of one step, of one cell, as it was before the
update: a number. What needs the number waits for the step.""",
     __int__=lambda self: int(float(self)),
     __bool__=lambda self: bool(float(self)),
     __round__=lambda self, digits=None: round(float(self), digits),
     __neg__=lambda self: -float(self), __abs__=lambda self: abs(float(self)),
     __array__=lambda self, dtype=None, copy=None: _array(
         Array(float(self), "f64"), dtype),
     __format__=lambda self, spec: format(float(self) if spec else repr(self),
                                          spec),
     __hash__=object.__hash__,
     __reduce__=lambda self: (float, (float(self),)),
     __len__=_no_items, __iter__=_no_items, __getitem__=_no_items,
     __getattr__=_loss_attribute, __setattr__=_loss_setting)
_add_checked(Loss, item=_loss_item)
