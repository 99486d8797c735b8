# SPDX-License-Identifier: Apache-2.0
"""Models of ONNX files, for predictions.

    model = ocannl.onnx.load("resnet18.onnx", {"batch": 1})
    logits = model(images=images)["logits"]
"""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ocannl import _native
from ocannl._errors import checked
from ocannl._handles import Path, by_name, check_given

# The name, the dtype and the sizes of an input or output.
Described = Tuple[str, str, Tuple[int, ...]]


class Model:
    """A model of a file. Names are those of the file."""

    __slots__ = ("_native", "_names")

    @checked
    def __init__(self, path: Path, dims: Mapping[str, int], tier: str,
                 threads: int) -> None:
        self._native = _native.OnnxModel(os.fspath(path), dict(dims), tier,
                                         threads)
        self._names = [name for name, _, _ in self.inputs]

    @property
    def inputs(self) -> List[Described]:
        """The name, the dtype and the shape of each array that a call needs."""
        return [(name, dtype, tuple(dims))
                for name, dtype, dims in self._native.inputs()]

    @property
    def outputs(self) -> List[Described]:
        """The same of each array that a call returns."""
        return [(name, dtype, tuple(dims))
                for name, dtype, dims in self._native.outputs()]

    def parameters(self) -> Dict[str, _native.Array]:
        """Copies of the parameters by name, of the shapes of the file."""
        return self._native.parameters()

    def __call__(self, inputs: Optional[Mapping[str, Any]] = None, /,
                 **named: Any) -> Dict[str, _native.Array]:
        """The outputs by name, for one array for each input: of its shape and
        dtype. Inputs whose names are not words of Python are in a dictionary:
        model({"x:0": array})."""
        if inputs is not None and not isinstance(inputs, Mapping):
            raise by_name("model", self._names)
        given = {**(inputs or {}), **named}
        check_given("the model", given, self._names)
        return self._native.run(given)

    def __repr__(self) -> str:
        return f"<ocannl.onnx.Model {self.inputs} -> {self.outputs}>"


@checked
def load(path: Path, dims: Optional[Mapping[str, int]] = None, *,
         tier: str = "auto", threads: int = 0) -> Model:
    """The model of an .onnx file, compiled. `dims` are the sizes of its free
    dimensions, by name: {"batch": 1}."""
    return Model(path, dims or {}, tier, threads)


__all__ = ["Model", "load"]
