# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX files, for predictions.

    model = ocannl.onnx.load("resnet18.onnx")
    logits = model(images=images)["logits"]
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from ocannl import _native
from ocannl._errors import checked
from ocannl._handles import Path, by_name, check_given

# The name, the dtype and the sizes of an input or output. A free size is its
# name, and without sizes the file says nothing of them.
Described = Tuple[str, str, Optional[Tuple[Union[int, str], ...]]]


class Model:
    """A model of a file. Names are those of the file."""

    __slots__ = ("_native", "_names")

    @checked
    def __init__(self, path: Path, dims: Mapping[str, int],
                 constants: Mapping[str, Any], tier: str,
                 threads: int) -> None:
        self._native = _native.OnnxModel(os.fspath(path), dict(dims),
                                         dict(constants), tier, threads)
        self._names = [name for name, _, _ in self.inputs]

    @property
    def inputs(self) -> List[Described]:
        """The name, the dtype and the shape of each array that a call needs,
        such as ("images", "f32", ("batch", 3, 224, 224))."""
        return _described(self._native.inputs())

    @property
    def outputs(self) -> List[Described]:
        """The same of each array that a call returns, as the file says it."""
        return _described(self._native.outputs())

    @property
    def metadata(self) -> Dict[str, str]:
        """What the file says about itself, such as the names of classes."""
        return self._native.metadata()

    def parameters(self) -> Dict[str, _native.Array]:
        """Copies of the parameters by name, of the shapes of the file."""
        return self._native.parameters()

    def __call__(self, inputs: Optional[Mapping[str, Any]] = None, /,
                 **named: Any) -> Dict[str, _native.Array]:
        """The outputs by name, for one array for each input, of its dtype. The
        sizes of free dimensions are those of the arrays: the first call with
        such sizes compiles the model for them. Inputs whose names are not words
        of Python are in a dictionary: model({"x:0": array})."""
        if inputs is not None and not isinstance(inputs, Mapping):
            raise by_name("model", self._names)
        given = {**(inputs or {}), **named}
        check_given("the model", given, self._names)
        return self._native.run(given)

    def __repr__(self) -> str:
        return f"<ocannl.onnx.Model {self.inputs} -> {self.outputs}>"


def _described(
        tensors: List[Tuple[str, str, Optional[List[Union[int, str]]]]]
) -> List[Described]:
    return [(name, dtype, None if dims is None else tuple(dims))
            for name, dtype, dims in tensors]


@checked
def load(path: Path, dims: Optional[Mapping[str, int]] = None, *,
         constants: Optional[Mapping[str, Any]] = None, tier: str = "auto",
         threads: int = 0) -> Model:
    """The model of an .onnx file. `dims` fixes sizes of free dimensions, by
    name: {"batch": 1}. Other free dimensions have the sizes of the arrays that
    a call gives. The model keeps the code for the last 16 sizes, and one copy
    of the parameters for all. Without free dimensions it is compiled now.

    `constants` are values of inputs that calls do not give, such as a sample
    rate: {"sr": 16000}. If an input chooses between two branches, both are
    computed; if a constant does, only one is."""
    return Model(path, dims or {}, constants or {}, tier, threads)


__all__ = ["Model", "load"]
