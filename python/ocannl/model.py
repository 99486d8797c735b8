# SPDX-License-Identifier: Apache-2.0
"""Model: tensors, what trains them, and the parameters by name.

    model = ocannl.Model(seed=1)
    x = model.input("x", "10|2")
    y = model.input("y", "10|1")
    scores = ocannl.mlp(x, [16, 1])
    step = model.train(ocannl.mean_squared_error(scores, y),
                       ocannl.adamw(1e-3))
    loss = step(x=points, y=labels)      # float(loss) is the number
    answers = model.predict(scores)(x=other_points)
"""

from __future__ import annotations

import collections.abc
import re
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from ocannl import _native
from ocannl._errors import Error, here, plain_type_errors
from ocannl.optim import Optimiser, Rate
from ocannl.tensor import Tensor


class Model(collections.abc.MutableMapping):
    """A graph with its parameters, which it maps by name to arrays.

    `tier` is what runs the code: "auto", "interp", "x86", "x86-avx2",
    "x86-avx512" or "cuda"; all of them compute the same bits. `threads` is how
    many run one routine; 0: one a processor. With `profile`, each part of a
    routine is timed: see `profile()`. Threads that use one model take turns.
    """

    def __init__(self, seed: int = 1, *, tier: str = "auto", threads: int = 0,
                 profile: bool = False) -> None:
        with plain_type_errors():
            self._session = _native.Session(tier, seed, threads, profile)
        self._names: Dict[str, int] = {}
        # Inputs, constants and what has a name: texts may mention them.
        self._by_name: Dict[str, Tensor] = {}

    # Tensors.

    def input(self, name: str, rows: str, dtype: str = "f32") -> Tensor:
        """An array that each call gives: its sizes as batch|input->output, such
        as "10|2". Predictions may have another batch."""
        where = _native.Where(*here())
        made = Tensor(
            self, [],
            lambda nodes, training: self._session.input(name, rows, dtype,
                                                        where),
            input=(name, rows, dtype))
        self._by_name[made.name] = made
        return made

    def constant(self, name: str, values: Any, rows: str,
                 dtype: str = "f32") -> Tensor:
        """An array that is part of the model: a copy of `values`."""
        where = _native.Where(*here())
        with plain_type_errors():
            node = self._session.constant(name, values, rows, dtype, where)
        made = Tensor(self, [], lambda nodes, training: node)
        self._by_name[made.name] = made
        return made

    def step_number(self) -> Tensor:
        """The number of the step, from 0; 0 in predictions. A learning rate may
        be an expression of it: ocannl.sgd(0.1 / (1 + model.step_number()))."""
        where = _native.Where(*here())
        node = self._session.step_number(where)
        return Tensor(self, [], lambda nodes, training: node)

    def uniform(self) -> Tensor:
        """Random numbers in [0, 1), others in each step; the shape is that of
        the use."""
        where = _native.Where(*here())
        node = self._session.uniform(where)
        return Tensor(self, [], lambda nodes, training: node)

    def normal(self) -> Tensor:
        """Random numbers of a standard normal distribution, likewise."""
        where = _native.Where(*here())
        node = self._session.normal(where)
        return Tensor(self, [], lambda nodes, training: node)

    def parse(self, text: str, **names: Union[Tensor, float]) -> Tensor:
        """What a text in the notation says; ocannl/NOTATION.md describes it.
        The names in it are keywords, inputs and other tensors with names of the
        model, or parameters that a text declares:

            model.parse("{w} * x + {b; o=[16]}", x=x)
        """
        where = _native.Where(*here())
        # They are operands: a prediction for another batch has others of them.
        names = {**self._mentioned(text), **names}
        tensors = {key: value for key, value in names.items()
                   if isinstance(value, Tensor)}
        numbers = {key: value for key, value in names.items()
                   if key not in tensors}
        declared = None  # which parameters: later calls have the same

        def apply(nodes: List[_native.Node], training: bool) -> _native.Node:
            nonlocal declared
            del training
            given = {**dict(zip(tensors, nodes)), **numbers}
            node, declared = self._session.parse(text, given, declared, where)
            return node

        return Tensor(self, list(tensors.values()), apply)

    def _mentioned(self, text: str) -> Dict[str, Tensor]:
        """The tensors of the model that a text names."""
        code = re.sub(r'"[^"]*"', "", text)  # without specs
        declared = set(re.findall(r"\{\s*(\w+)", code))
        words = set(re.findall(r"[^\W\d]\w*", code)) - declared
        return {name: tensor for name, tensor in self._by_name.items()
                if name in words}

    def _free_name(self, base: str) -> str:
        """The name of a layer that has none: linear, linear2, ..."""
        self._names[base] = self._names.get(base, 0) + 1
        count = self._names[base]
        return base if count == 1 else f"{base}{count}"

    # What runs.

    def train(self, loss: Tensor, optimiser: Optimiser) -> Step:
        """Compiles one step that makes `loss`, of one cell, smaller. Parameters
        that have no values get their first ones."""
        self._own(loss)
        return Step(self, loss, optimiser)

    def predict(self, *outputs: Tensor) -> Predictor:
        """The value of one tensor, or a list of those of several, as a function
        of the inputs. It compiles for a batch when that is given first."""
        if not outputs:
            raise TypeError("predict() needs a tensor")
        for output in outputs:
            self._own(output)
        return Predictor(self, outputs)

    def explain(self, *outputs: Tensor) -> Dict[str, str]:
        """Each stage from assignments to machine code as text, by name: "cd",
        "ll", "script", "schedule", "x86"."""
        return self.predict(*outputs).explain()

    def profile(self) -> str:
        """Where time went, as tables of loop nests. The model was made with
        profile=True."""
        return _native.profile()

    def tier_report(self) -> str:
        """Which routines ran on which tier so far, and why."""
        return _native.tier_report(self._session)

    def _own(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"a {type(tensor).__name__} is not a tensor")
        if tensor.model is not self:
            raise Error(f"`{tensor.name}` is a tensor of another model")

    # Parameters.

    def __getitem__(self, name: str) -> _native.Array:
        """A copy of the value of a parameter, whose memory NumPy shares."""
        if not isinstance(name, str):
            raise KeyError(name)
        return _native.get_parameter(self._session, name)

    def __setitem__(self, name: str, values: Any) -> None:
        _native.set_parameter(self._session, name, values)

    def __delitem__(self, name: str) -> None:
        raise TypeError("parameters of a model cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(_native.parameters(self._session))

    def __len__(self) -> int:
        return len(_native.parameters(self._session))

    def __contains__(self, name: object) -> bool:
        return name in _native.parameters(self._session)

    # Models are equal if they are the same one.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]

    def params_hash(self) -> str:
        """16 hexadecimal digits of the names, dtypes, sizes and bits of all
        parameters: equal trainings have equal ones."""
        return _native.params_hash(self._session, list(self))

    def save(self, path: str) -> None:
        """Writes the parameters to a .npz or .safetensors file."""
        _native.save(self._session, str(path))

    def load(self, path: str, *, names: Optional[Dict[str, str]] = None,
             allow_missing: bool = False, allow_extra: bool = False) -> None:
        """Reads them; `names` says what parameters are called in the file where
        that is another name."""
        _native.load(self._session, str(path), names or {}, allow_missing,
                     allow_extra)


def _in_order(roots: Sequence[Tensor]) -> List[Tensor]:
    """All tensors of an expression, operands first."""
    order: Dict[int, Tensor] = {}
    left: List[Tuple[Tensor, bool]] = [(root, False) for root in roots[::-1]]
    while left:
        tensor, is_done = left.pop()
        if id(tensor) in order:
            continue
        if is_done:
            order[id(tensor)] = tensor
            continue
        left.append((tensor, True))
        left.extend((parent, False) for parent in tensor.parents[::-1])
    return list(order.values())


def _inputs_of(roots: Sequence[Tensor]) -> Dict[str, Tensor]:
    inputs: Dict[str, Tensor] = {}
    for tensor in _in_order(roots):
        if tensor.input is None:
            continue
        name = tensor.input[0]
        if inputs.setdefault(name, tensor) is not tensor:
            raise Error(f"two inputs are called `{name}`; give them two names")
    return inputs


def _values(what: str, keys: Sequence[str], given: Dict[str, Any],
            known: Dict[str, Tensor]) -> List[Any]:
    """The values of `keys`, of what a caller gave."""
    for key in given:
        if key not in known:
            names = ", ".join(known) or "none"
            raise TypeError(f"{what} has no input `{key}`; its inputs are: "
                            f"{names}")
    for key in known:
        if key not in given:
            raise TypeError(f"{what} needs the input `{key}`: give {key}=array")
    return [given[key] for key in keys]


class Step:
    """One step of a training. Each call copies its inputs and returns the loss
    as it was before the update, without waiting for it: float() waits."""

    def __init__(self, model: Model, loss: Tensor,
                 optimiser: Optimiser) -> None:
        if not isinstance(optimiser, Optimiser):
            raise TypeError("train() needs an optimiser, such as "
                            "ocannl.adamw(1e-3)")
        self.model = model
        self._inputs = _inputs_of([loss])
        self._native = _native.Step(
            model._session, loss._node, _native.chain(optimiser.rules),
            self._rate(model, optimiser.rate),
            [(name, each._node) for name, each in self._inputs.items()])
        self._keys = [key for key, _ in self._native.keys()]

    @staticmethod
    def _rate(model: Model, rate: Union[Rate, Tensor]) -> _native.Node:
        if isinstance(rate, Tensor):
            model._own(rate)
            return rate._node
        return _native.rate(model._session, rate.kind, rate.first, rate.last,
                            rate.steps, rate.warmup, _native.Where(*here()))

    def __call__(self, **inputs: Any) -> _native.Loss:
        if len(inputs) == len(self._inputs):
            loss = self._native.run(inputs)
            if loss is not None:
                return loss
        values = _values("the step", self._keys, inputs, self._inputs)
        return self._native.run(dict(zip(self._keys, values)))

    @property
    def count(self) -> int:
        """How many steps were made: schedules and dropout depend on it."""
        return self._native.count

    def explain(self) -> Dict[str, str]:
        """The stages of the step's code, as those of Model.explain."""
        return self._native.explain()

    def save(self, path: str) -> None:
        """Writes all that the training needs to go on: parameters, states of
        the optimiser and of layers, and the number of steps."""
        self._native.save(str(path))

    def load(self, path: str) -> None:
        """Reads that: later steps have the bits that they would have had."""
        self._native.load(str(path))


class Predictor:
    """Tensors as a function of inputs, which may have any batch."""

    def __init__(self, model: Model, outputs: Sequence[Tensor]) -> None:
        self.model = model
        self._outputs = tuple({id(each): each for each in outputs}.values())
        ids = [id(each) for each in self._outputs]
        self._places = [ids.index(id(each)) for each in outputs]
        self._order = _in_order(outputs)
        self._inputs = _inputs_of(outputs)
        self._compiled: Dict[Tuple[str, ...], _native.Forward] = {}

    def __call__(self, **inputs: Any) -> Any:
        _values("the prediction", [], inputs, self._inputs)
        rows = {name: self._rows(each, inputs[name])
                for name, each in self._inputs.items()}
        code = self._code(rows)
        arrays = code.run([inputs[key] for key, _ in code.keys()])
        if len(self._places) == 1:
            return arrays[0]
        return [arrays[place] for place in self._places]

    def explain(self) -> Dict[str, str]:
        """The stages of the code for the batch that the inputs declare."""
        rows = {name: each.input[1] for name, each in self._inputs.items()
                if each.input is not None}
        return self._code(rows).explain()

    @staticmethod
    def _rows(tensor: Tensor, values: Any) -> str:
        """The rows of an input with the batch that the values have."""
        name, rows, dtype = tensor.input or ("", "", "")
        batch, bar, rest = rows.rpartition("|")
        if not bar or not batch:
            return rows
        shape = _native.shape_of(values, dtype, f"`{name}`")
        others = sum(len(row.split(",")) for row in rest.split("->") if row)
        if len(shape) < others:
            raise Error(f"`{name}` has the shape {shape}, but `{rows}` has "
                        f"{others} axes beside the batch")
        return ",".join(map(str, shape[:len(shape) - others])) + "|" + rest

    def _code(self, rows: Dict[str, str]) -> _native.Forward:
        """The code for inputs of those rows."""
        key = tuple(rows.values())
        if key not in self._compiled:
            nodes: Dict[int, _native.Node] = {}
            for tensor in self._order:
                if tensor.input is not None:
                    name, _, dtype = tensor.input
                    nodes[id(tensor)] = self.model._session.input(
                        name, rows[name], dtype, _native.Where(*here()))
                    continue
                nodes[id(tensor)] = tensor._apply(
                    [nodes[id(parent)] for parent in tensor.parents], False)
            self._compiled[key] = _native.Forward(
                self.model._session,
                [nodes[id(output)] for output in self._outputs],
                [(name, nodes[id(each)])
                 for name, each in self._inputs.items()])
        return self._compiled[key]
