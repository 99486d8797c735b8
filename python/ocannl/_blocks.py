# SPDX-License-Identifier: Apache-2.0
"""Layers: functions of a tensor that make parameters.

    h = ocannl.relu(ocannl.linear(x, 64, name="hidden"))

Each call makes new parameters, NAME_w and so on. Without a name it is
the function's own, with a number if that is taken. `init` is one of
"kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal", "torch"
and "zeros".
"""

from __future__ import annotations

import numbers
from typing import Any, Callable, Optional, Sequence, Union

from ocannl import _native
from ocannl._errors import Error, a, checked, here
from ocannl._tensor import Tensor, check_name

_INIT = "kaiming_uniform"


def _block(make: Callable[..., _native.Block], name: str, default: str,
           operands: Sequence[Tensor], *options: Any) -> Tensor:
    """Makes a block and applies it. The block is made once; the tensor applies
    it again where the expression is built for another batch."""
    if not isinstance(operands[0], Tensor):
        raise TypeError(f"{default}() needs a tensor")
    model = operands[0].model
    if name:
        check_name(name)
    where = _native.Where(*here())
    with model._lock:
        name = model._layer_name(name, default)
        block = make(model._session, name, *options, where)
        made = _apply_block(block, operands)
        model._layers[name] = here()  # what failed may be written again
    return made


def _check_epsilon(epsilon: float) -> None:
    if not 0 <= epsilon < float("inf"):
        raise Error(f"epsilon is {epsilon}; it must be finite and not negative")


def _check_layers(layers: int) -> None:
    """Each layer is built on its own: a graph of 2^31 would never end."""
    if isinstance(layers, numbers.Integral) and not 1 <= layers <= 10_000:
        raise Error(f"layers={layers}; give 1 to 10,000")


def _apply_block(block: _native.Block, operands: Sequence[Tensor]) -> Tensor:
    where = _native.Where(*here())
    made = Tensor(operands[0].model, operands,
                  lambda nodes, training: block(nodes, training, where))
    made._block = block
    return made


@checked
def linear(x: Tensor, outputs: Union[int, Sequence[int], None] = None, *,
           bias: bool = True, init: str = _INIT, name: str = "") -> Tensor:
    """w @ x + b, where all output axes of `x` are contracted: batch|inputs
    gives batch|outputs. Without outputs, as many as the use of the result
    wants. Parameters: w, inputs->outputs, and b, outputs."""
    sizes = None
    if isinstance(outputs, numbers.Integral):
        sizes = [int(outputs)]
    elif outputs is not None:
        sizes = list(outputs)  # type: ignore[arg-type]
    return _block(_native.linear, name, "linear", [x], sizes, bias, init)


@checked
def mlp(x: Tensor, sizes: Sequence[int], *, init: str = _INIT,
        name: str = "") -> Tensor:
    """Linear maps with relu between them, of the sizes of the hidden layers and
    of the result: batch|inputs gives batch|sizes[-1]."""
    if not sizes:
        raise Error("mlp() has no sizes; give that of the result at least")
    return _block(_native.mlp, name, "mlp", [x], list(sizes), init)


@checked
def conv2d(x: Tensor, channels: int, kernel: int = 3, *, stride: int = 1,
           dilation: int = 1, padding: Union[str, int] = "same",
           bias: bool = True, groups: int = 1, inputs: int = 0,
           init: str = _INIT, name: str = "") -> Tensor:
    """A convolution: batch|height,width,inputs gives
    batch|height,width,channels, with padding "same" and stride 1. `padding` is
    "same", "valid" or a number of cells. `inputs`, the number of channels of
    `x`, is needed by groups and is inferred else."""
    return _block(_native.conv2d, name, "conv2d", [x], channels, kernel, stride,
                  dilation, padding, bias, groups, inputs, init)


@checked
def embedding(ids: Tensor, count: int, size: int, *, name: str = "") -> Tensor:
    """The vector of each id, from 0 to `count` - 1: integers batch| give
    batch|size. Parameter: table, count->size."""
    return _block(_native.embedding, name, "embedding", [ids], count, size)


@checked
def layer_norm(x: Tensor, *, epsilon: float = 1e-5, name: str = "") -> Tensor:
    """Ba, Kiros, Hinton, "Layer normalization" (2016), over the output axes of
    batch|size, which stay."""
    _check_epsilon(epsilon)
    return _block(_native.layer_norm, name, "layer_norm", [x], epsilon)


@checked
def rms_norm(x: Tensor, *, epsilon: float = 1e-5, name: str = "") -> Tensor:
    """Zhang, Sennrich, "Root mean square layer normalization" (2019), over the
    output axes of batch|size, which stay."""
    _check_epsilon(epsilon)
    return _block(_native.rms_norm, name, "rms_norm", [x], epsilon)


@checked
def batch_norm(x: Tensor, *, momentum: float = 0.1, epsilon: float = 1e-5,
               name: str = "") -> Tensor:
    """Ioffe, Szegedy, "Batch normalization" (2015), of each channel, the last
    axis of batch|channels or batch|height,width,channels; the shape stays. In
    predictions it uses the running mean and variance."""
    _check_epsilon(epsilon)
    return _block(_native.batch_norm, name, "batch_norm", [x], momentum,
                  epsilon)


@checked
def dropout(x: Tensor, rate: float) -> Tensor:
    """In training, each cell is 0 with probability `rate`, and divided by
    1 - rate otherwise. In predictions nothing happens. Any shape, batch|size,
    stays."""
    if not isinstance(x, Tensor):
        raise TypeError("dropout() needs a tensor")
    return _apply_block(_native.dropout(x.model._session, rate), [x])


@checked
def attention(x: Tensor, memory: Optional[Tensor] = None, *, size: int,
              heads: int, key_size: Optional[int] = None,
              mask: Optional[Tensor] = None, dropout: float = 0.0,
              name: str = "") -> Tensor:
    """Multi-head attention of each place of `x`, ...,length|size, to the places
    of `memory`, ...,others|size, or of `x` itself, where `mask` is true. Gives
    ...,length|size."""
    if key_size is None and (heads < 1 or size % heads != 0):
        raise Error(f"size={size} is not a multiple of heads={heads}; give "
                    "other numbers, or the key_size of a head")
    operands = [x, x if memory is None else memory]
    if mask is not None:
        operands.append(mask)
    return _block(_native.attention, name, "attention", operands, size, heads,
                  size // heads if key_size is None else key_size, dropout)


@checked
def causal_mask(model: Any, length: int) -> Tensor:
    """Which places each place may see: those up to itself. The bools of a mask
    length|length->heads."""
    if not hasattr(model, "_session"):
        raise TypeError("causal_mask() needs a model, not "
                        f"{a(type(model).__name__)}")
    where = _native.Where(*here())
    return Tensor(model, [],
                  lambda nodes, training: _native.Session.causal_mask(
                      model._session, length, where))


@checked
def encoder(x: Tensor, *, layers: int, size: int, heads: int, hidden: int,
            mask: Optional[Tensor] = None, pre_norm: bool = True,
            dropout: float = 0.0, epsilon: float = 1e-5,
            name: str = "") -> Tensor:
    """Blocks of attention and a perceptron with gelu: ...,length|size stays.
    With a causal mask they are a decoder without an encoder. `epsilon` is that
    of the norms; BERT has 1e-12."""
    _check_layers(layers)
    _check_epsilon(epsilon)
    operands = [x] if mask is None else [x, mask]
    return _block(_native.encoder, name, "encoder", operands, layers, size,
                  heads, hidden, pre_norm, dropout, epsilon)


@checked
def decoder_only(tokens: Tensor, *, vocabulary: int, length: int, layers: int,
                 size: int, heads: int, hidden: int, pre_norm: bool = True,
                 dropout: float = 0.0, epsilon: float = 1e-5,
                 name: str = "") -> Tensor:
    """A language model: integers ...,length| of tokens give the logits of the
    next token at each place, ...,length|vocabulary. Model.generator continues
    sequences with it."""
    _check_layers(layers)
    _check_epsilon(epsilon)
    return _block(_native.decoder_only, name, "decoder_only", [tokens],
                  vocabulary, length, layers, size, heads, hidden, pre_norm,
                  dropout, epsilon)


__all__ = ["attention", "batch_norm", "causal_mask", "conv2d", "decoder_only",
           "dropout", "embedding", "encoder", "layer_norm", "linear", "mlp",
           "rms_norm"]
