# SPDX-License-Identifier: Apache-2.0
"""Functions of tensors without parameters.

Each function of one name is the operation of that name in the notation. A spec
names axes as the notation does: "...|i => ...|0".
"""

from __future__ import annotations

from typing import Callable, Optional, Union

from ocannl import _native
from ocannl._errors import checked
from ocannl._tensor import (Operand, Tensor, apply_mixed, apply_native,
                           pointwise)


def _unary(op: str, doc: str) -> Callable[[Operand], Tensor]:
    def function(x: Operand) -> Tensor:
        return pointwise(op, x)
    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{doc} Of each cell; the shape stays."
    return checked(function)


def _binary(op: str, doc: str) -> Callable[[Operand, Operand], Tensor]:
    def function(a: Operand, b: Operand) -> Tensor:
        return pointwise(op, a, b)
    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{doc} Of each cell; operands broadcast."
    return checked(function)


abs = _unary("abs", "The absolute value.")
sqrt = _unary("sqrt", "The square root, correctly rounded.")
rsqrt = _unary("rsqrt", "1 / sqrt(x).")
recip = _unary("recip", "1 / x.")
square = _unary("square", "x * x.")
cbrt = _unary("cbrt", "The cube root.")
floor = _unary("floor", "The greatest integer that is not above x.")
ceil = _unary("ceil", "The least integer that is not below x.")
trunc = _unary("trunc", "x without its fraction.")
round = _unary("round", "The nearest integer; halves go to even.")
exp = _unary("exp", "e^x.")
exp2 = _unary("exp2", "2^x.")
expm1 = _unary("expm1", "e^x - 1.")
log = _unary("log", "The natural logarithm.")
log2 = _unary("log2", "The logarithm to base 2.")
log10 = _unary("log10", "The logarithm to base 10.")
log1p = _unary("log1p", "log(1 + x).")
sin = _unary("sin", "The sine of an angle in radians.")
cos = _unary("cos", "The cosine.")
tan = _unary("tan", "The tangent.")
asin = _unary("asin", "The inverse sine.")
acos = _unary("acos", "The inverse cosine.")
atan = _unary("atan", "The inverse tangent.")
sinh = _unary("sinh", "The hyperbolic sine.")
cosh = _unary("cosh", "The hyperbolic cosine.")
tanh = _unary("tanh", "The hyperbolic tangent.")
asinh = _unary("asinh", "The inverse hyperbolic sine.")
acosh = _unary("acosh", "The inverse hyperbolic cosine.")
atanh = _unary("atanh", "The inverse hyperbolic tangent.")
erf = _unary("erf", "The error function.")
sigmoid = _unary("sigmoid", "1 / (1 + e^-x).")
relu = _unary("relu", "max(0, x).")
sat01 = _unary("sat01", "min(1, max(0, x)).")
softplus = _unary("softplus", "log(1 + e^x).")
silu = _unary("silu", "x sigmoid(x).")
gelu = _unary("gelu", "x times the probability that a standard normal number "
              "is below x.")
gelu_tanh = _unary("gelu_tanh", "gelu, approximated by tanh.")
minimum = _binary("minimum", "The smaller one; NaN if one is NaN.")
maximum = _binary("maximum", "The greater one; NaN if one is NaN.")
pow = _binary("pow", "a^b.")
atan2 = _binary("atan2", "The angle of the point (b, a).")
hypot = _binary("hypot", "sqrt(a a + b b).")


@checked
def fma(a: Operand, b: Operand, c: Operand) -> Tensor:
    """a * b + c, rounded once. Operands broadcast."""
    return pointwise("fma", a, b, c)


@checked
def where(condition: Operand, a: Operand, b: Operand) -> Tensor:
    """`a` where the condition is true, or a number that is not 0, else `b`.
    Operands broadcast."""
    return apply_mixed(_native.where, condition, a, b)


@checked
def stretch(x: Tensor) -> Tensor:
    """The values, repeated along axes that uses want and `x` does not have."""
    return apply_native(_native.stretch, x)


@checked
def softmax(spec: str, x: Tensor) -> Tensor:
    """exp(x) / sum of exp(x) over the axes that `spec` makes 0:
    softmax("...|v => ...|0", x). The shape of `x` stays."""
    return apply_native(lambda n, at: _native.softmax(spec, n, at), x)


@checked
def log_softmax(spec: str, x: Tensor) -> Tensor:
    """The logarithm of the softmax. The shape of `x` stays."""
    return apply_native(lambda n, at: _native.log_softmax(spec, n, at), x)


@checked
def cross_entropy(logits: Tensor, targets: Tensor, *,
                  label_smoothing: float = 0.0,
                  weights: Optional[Tensor] = None) -> Tensor:
    """The mean over the batch of -target * log_softmax(logits), in nats.
    Targets are probabilities, as `one_hot` makes them. Both are batch|classes;
    the result has one cell. `weights` has one for each class, classes."""
    return apply_native(
        lambda x, y, w, at: _native.cross_entropy(x, y, label_smoothing, w, at),
        logits, targets, weights)


@checked
def mean_squared_error(values: Tensor, targets: Tensor) -> Tensor:
    """The mean over all cells of the squared difference: one cell. The operands
    have one shape, or broadcast."""
    return apply_native(_native.mean_squared_error, values, targets)


@checked
def one_hot(ids: Tensor, classes: int, dtype: str = "f32") -> Tensor:
    """One output axis more: 1 in the cell that the id says, else 0. Integers
    batch| give batch|classes."""
    return apply_native(lambda n, at: _native.one_hot(n, classes, dtype, at),
                        ids)


@checked
def gather(spec: str, table: Tensor, ids: Tensor) -> Tensor:
    """The cells of `table` at `ids`: gather("v, d; b| => b|d", table, ids)."""
    return apply_native(lambda t, n, at: _native.gather(spec, t, n, at), table,
                        ids)


@checked
def scatter_add(spec: str, values: Tensor, ids: Tensor, size: int) -> Tensor:
    """The sums of the cells that have the same id, on an axis of `size`:
    scatter_add("b, d; b| => v, d", values, ids, 10)."""
    return apply_native(
        lambda v, n, at: _native.scatter_add(spec, v, n, size, at), values, ids)


@checked
def argmax(axis: str, x: Tensor) -> Tensor:
    """The index of the greatest cell along the axis: argmax("...|i", x)."""
    return apply_native(lambda n, at: _native.argmax(axis, n, at), x)


@checked
def argmin(axis: str, x: Tensor) -> Tensor:
    """The index of the least cell along the axis: argmin("...|i", x)."""
    return apply_native(lambda n, at: _native.argmin(axis, n, at), x)


@checked
def cumsum(axis: str, x: Tensor) -> Tensor:
    """Along the axis, cell i is the sum of the cells up to i:
    cumsum("...|i", x). The shape stays."""
    return apply_native(lambda n, at: _native.cumsum(axis, n, at), x)


@checked
def stack(axis: str, *parts: Tensor) -> Tensor:
    """Tensors of one shape along a new axis: stack("...|i, ...", a, b)."""
    return apply_native(
        lambda *args: _native.stack(axis, list(args[:-1]), args[-1]), *parts)


@checked
def part(axis: str, x: Tensor, start: int, size: int) -> Tensor:
    """The `size` cells from cell `start` on along the axis:
    part("...|i", x, 0, 2) of 8|5 is 8|2."""
    return apply_native(
        lambda n, at: _native.part(axis, n, start, size, at), x)


@checked
def max_pool2d(x: Tensor, kernel: int = 2, *, stride: Optional[int] = None,
               padding: Union[str, int] = "valid") -> Tensor:
    """The greatest cell of each window of images batch|height,width,channels.
    The stride is the size of the window unless it is given."""
    return apply_native(
        lambda n, at: _native.max_pool2d(n, kernel, stride, padding, at), x)


@checked
def avg_pool2d(x: Tensor, kernel: int = 2, *, stride: Optional[int] = None,
               padding: Union[str, int] = "valid") -> Tensor:
    """The mean of each window of images batch|height,width,channels,
    likewise."""
    return apply_native(
        lambda n, at: _native.avg_pool2d(n, kernel, stride, padding, at), x)


@checked
def global_avg_pool2d(x: Tensor) -> Tensor:
    """The mean of each channel over the image: 8|7,7,16 gives 8|16."""
    return apply_native(_native.global_avg_pool2d, x)


__all__ = ["abs", "acos", "acosh", "argmax", "argmin", "asin", "asinh", "atan",
           "atan2", "atanh", "avg_pool2d", "cbrt", "ceil", "cos", "cosh",
           "cross_entropy", "cumsum", "erf", "exp", "exp2", "expm1", "floor",
           "fma", "gather", "gelu", "gelu_tanh", "global_avg_pool2d", "hypot",
           "log", "log10", "log1p", "log2", "log_softmax", "max_pool2d",
           "maximum", "mean_squared_error", "minimum", "one_hot", "part",
           "pow", "recip", "relu", "round", "rsqrt", "sat01", "scatter_add",
           "sigmoid", "silu", "sin", "sinh", "softmax", "softplus", "sqrt",
           "square", "stack", "stretch", "tan", "tanh", "trunc", "where"]
