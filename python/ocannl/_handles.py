# SPDX-License-Identifier: Apache-2.0
"""What a model compiles: steps of a training, predictions and generators."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
from typing import (Any, Collection, Dict, Iterable, List, NoReturn, Optional,
                    Sequence, Tuple, Union)

import ocannl
from ocannl import _native
from ocannl._errors import Closed, Error, a, checked, here
from ocannl._hints import KEYWORDS
from ocannl._optim import Optimiser, Rate
from ocannl._tensor import Tensor

Path = Union[str, "os.PathLike[str]"]
_Shard = Tuple[_native.Node, List[Tuple[str, _native.Node]]]


def by_name(call: str, names: Iterable[str]) -> TypeError:
    """Arrays were not given as keywords."""
    usage = ", ".join(f"{name}=array" for name in names)
    return TypeError(f"arrays are given by name: {call}({usage})")


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


def _built(model: ocannl.Model, order: Sequence[Tensor], rows: Dict[str, str],
           training: bool) -> Dict[int, _native.Node]:
    """The nodes of tensors that are built again, where the inputs have other
    rows."""
    nodes: Dict[int, _native.Node] = {}
    for tensor in order:
        if tensor.input is not None:
            name, declared, dtype = tensor.input
            nodes[id(tensor)] = model._session.input(
                name, rows.get(name, declared), dtype, _native.Where(*here()))
            continue
        nodes[id(tensor)] = tensor._apply(
            [nodes[id(parent)] for parent in tensor.parents], training)
    return nodes


def _shards_of(inputs: Dict[str, Tensor], shards: int,
               reduction: str) -> Dict[str, str]:
    """The rows of a shard of each input that has a batch."""
    if reduction not in ("mean", "sum"):
        raise Error(f"reduction={reduction!r}; give \"mean\" or \"sum\", which "
                    "the loss is over its examples")
    if not 1 <= operator.index(shards) <= 1024:
        raise Error(f"shards={shards}; give 1 to 1024")
    if shards == 1:
        return {}
    parts, sizes = {}, {}
    for name, tensor in inputs.items():
        assert tensor.input is not None
        batch, bar, rest = tensor.input[1].rpartition("|")
        if not batch.strip():
            continue  # each shard has all of it
        first, comma, others = batch.partition(",")
        sizes[name] = int(first)
        parts[name] = f"{int(first) // shards}{comma}{others}{bar}{rest}"
    if not parts:
        raise Error(f"{shards} shards divide a batch, but no input has one; "
                    "declare one: model.input(name, \"32|2\")")
    if len(set(sizes.values())) > 1:
        raise Error(f"{shards} shards divide one batch, but the inputs have "
                    f"batches of the sizes {sizes}; give all the same")
    name, size = next(iter(sizes.items()))
    if size % shards != 0:
        fitting = [k for k in range(1, min(size, 64) + 1) if size % k == 0]
        raise Error(f"`{name}` has a batch of {size}, which {shards} shards do "
                    f"not divide; give {', '.join(map(str, fitting))}, or "
                    "another batch")
    return parts


def check_given(what: str, given: Iterable[str],
                known: Collection[str]) -> None:
    """Raises TypeError: the names that a caller gave are not those of inputs.
    """
    for key in given:
        if key not in known:
            names = ", ".join(known) or "none"
            hint = f"; {KEYWORDS[key]}" if key in KEYWORDS else ""
            raise TypeError(f"{what} has no input `{key}`; its inputs are: "
                            f"{names}{hint}")
    for key in known:
        if key not in given:
            raise TypeError(f"{what} needs the input `{key}`: give {key}=array")


class _Compiled(Closed):
    """What a step and a prediction have in common."""

    __slots__ = ()
    model: ocannl.Model
    _inputs: Dict[str, Tensor]

    def _code(self) -> Union[_native.Step, _native.Forward]:
        raise NotImplementedError

    @checked
    def explain(self) -> Dict[str, str]:
        """Each stage from assignments to machine code as text, by name: "cd",
        "ll", "script", "schedule", "x86"."""
        with self.model._lock:
            return self._code().explain()

    @checked
    def profile(self) -> str:
        """Where the time of the calls went, as a table of loop nests. The model
        was made with profile=True."""
        return self._code().profile()

    @checked
    def tune(self, seconds: float = 60.0, *, seed: int = 1) -> str:
        """Searches so many seconds for a schedule that is faster than the
        planner's, and uses it from now on: the bits stay the same. Returns a
        report. Another process searches; nothing else should run meanwhile.

        Of predictions, the code for the batch that the inputs declare is tuned.
        """
        if not seconds > 0:
            raise Error(f"seconds={seconds}; give more than 0")
        with self.model._lock:
            program = self._code().program()
        tier, threads, _ = self.model._options
        ran = subprocess.run(
            [sys.executable, "-c", _TUNE, os.path.dirname(_native.__file__),
             tier, str(seconds), str(seed), str(threads)],
            input=program, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise Error(ran.stderr.strip().rpartition("Error: ")[2] or
                        "the process that tunes ended with the code "
                        f"{ran.returncode}")
        report, _, script = ran.stdout.partition(_SCRIPT)
        if script.strip():
            with self.model._lock:
                self._code().rewrite(script)
        return report

    def __reduce__(self) -> Any:
        raise TypeError(f"{a(type(self).__name__)} cannot be pickled or "
                        "copied: make it again from its model")

    def __bool__(self) -> bool:
        return True

    def _no_items(self, *args: Any) -> NoReturn:
        raise TypeError(f"{self._kind} has no items: it is called with arrays, "
                        "f(x=array)")

    __len__ = __iter__ = __getitem__ = _no_items


# The program of the process that tunes: it must have no threads.
_SCRIPT = "\n---script---\n"
_TUNE = """
import os, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
from ocannl import _native
tier, seconds, seed, threads = sys.argv[2:]
report, script = _native.tune(
    sys.stdin.read(), tier, float(seconds), int(seed), int(threads))
print(report, script, sep=%r)
""" % _SCRIPT


class Step(_Compiled):
    """One step of a training. Each call copies its inputs and returns the loss
    as it was before the update, without waiting for it: float() waits."""

    __slots__ = ("model", "_inputs", "_native", "_keys", "__weakref__")
    _kind = "a step"

    @checked
    def __init__(self, model: ocannl.Model, loss: Tensor, optimiser: Optimiser,
                 shards: int = 1, reduction: str = "mean") -> None:
        self.model = model
        rates = ([optimiser.rate] if isinstance(optimiser.rate, Tensor) else [])
        self._inputs = _inputs_of([loss, *rates])
        rules = _native.chain(optimiser.rules)
        parts = _shards_of(self._inputs, shards, reduction)
        if parts and _inputs_of(rates):
            raise Error("the learning rate of a step of several shards cannot "
                        "be an input; give a schedule, or one shard")
        with model._lock:
            rate = self._rate(model, optimiser.rate)
            if shards == 1:
                self._native = _native.Step(
                    model._session, self._shard(loss, {}), rules, rate)
            else:
                self._native = _native.Step(
                    model._session,
                    [self._shard(loss, parts) for _ in range(shards)],
                    list(parts), reduction == "sum", rules, rate)
        self._keys = self._native.keys()

    def _shard(self, loss: Tensor, rows: Dict[str, str]) -> _Shard:
        """The loss and the inputs, which are built again where some have other
        rows."""
        if not rows:
            return loss._node, [(name, each._node)
                                for name, each in self._inputs.items()]
        nodes = _built(self.model, _in_order([loss]), rows, True)
        return nodes[id(loss)], [(name, nodes[id(each)])
                                 for name, each in self._inputs.items()]

    @staticmethod
    def _rate(model: ocannl.Model, rate: Union[Rate, Tensor]) -> _native.Node:
        if isinstance(rate, Tensor):
            model._own(rate)
            return rate._node
        return _native.rate(model._session, rate.kind, rate.first, rate.last,
                            rate.steps, rate.warmup, _native.Where(*here()))

    def __call__(self, *arrays: Any, **inputs: Any) -> _native.Loss:
        """The loss before the update, of one array for each input: of the
        shape that the input declares, and of its dtype."""
        if arrays:
            raise by_name("step", self._inputs)
        if len(inputs) == len(self._inputs):
            loss = self._native.run(inputs)
            if loss is not None:
                return loss
        check_given("the step", inputs, self._inputs)
        loss = self._native.run({key: inputs[key] for key in self._keys})
        assert loss is not None
        return loss

    def _code(self) -> Union[_native.Step, _native.Forward]:
        return self._native

    @property
    def count(self) -> int:
        """How many steps were made: schedules and dropout depend on it."""
        return self._native.count

    @checked
    def save(self, path: Path) -> None:
        """Writes all that the training needs to go on: parameters, states of
        the optimiser and of layers, and the number of steps."""
        with self.model._lock:
            self._native.save(os.fspath(path))

    @checked
    def load(self, path: Path) -> None:
        """Reads that: later steps have the bits that they would have had."""
        with self.model._lock:
            self._native.load(os.fspath(path))


class Predictor(_Compiled):
    """Tensors as a function of inputs, which may have any batch."""

    __slots__ = ("model", "_inputs", "_outputs", "_places", "_order",
                 "_compiled", "__weakref__")
    _kind = "a prediction"

    @checked
    def __init__(self, model: ocannl.Model, outputs: Sequence[Tensor]) -> None:
        self.model = model
        self._outputs = tuple({id(each): each for each in outputs}.values())
        ids = [id(each) for each in self._outputs]
        self._places = [ids.index(id(each)) for each in outputs]
        self._order = _in_order(outputs)
        self._inputs = _inputs_of(outputs)
        self._compiled: Dict[Tuple[str, ...], _native.Forward] = {}

    def __call__(self, *arrays: Any, **inputs: Any) -> Any:
        """The value of the tensor, or a list of those of several, for one array
        for each input: of any batch, with the other axes of the input."""
        if arrays:
            raise by_name("predict", self._inputs)
        check_given("the prediction", inputs, self._inputs)
        rows = {name: self._rows(each, inputs[name])
                for name, each in self._inputs.items()}
        code = self._code_for(rows)
        results = code.run([inputs[key] for key in code.keys()])
        if len(self._places) == 1:
            return results[0]
        return [results[place] for place in self._places]

    @checked
    def save_onnx(self, path: Path,
                  names: Optional[Sequence[str]] = None) -> None:
        """Writes the function as an ONNX file for other runtimes, with the
        parameters as they are. `names` are those of the outputs in the file.
        The first axis of inputs is open there, and called "batch", if inputs
        declare two rows or more."""
        given = list(names or [each.name for each in self._outputs])
        if len(given) != len(self._outputs):
            raise Error(f"there are {len(given)} `names` for "
                        f"{len(self._outputs)} outputs")
        code = self._code()
        with self.model._lock:
            code.save_onnx(os.fspath(path), given)

    def _code(self) -> Union[_native.Step, _native.Forward]:
        """The code for the batch that the inputs declare."""
        return self._code_for({name: each.input[1]
                               for name, each in self._inputs.items()
                               if each.input is not None})

    @staticmethod
    def _rows(tensor: Tensor, values: Any) -> str:
        """The rows of an input with the batch that the values have."""
        name, rows, dtype = tensor.input or ("", "", "")
        batch, bar, rest = rows.rpartition("|")
        if not bar or not batch:
            return rows
        shape = _native.shape_of(values, dtype, f"`{name}`")
        if 0 in shape:
            raise Error(f"`{name}` has the shape {shape}, of no cells; give 1 "
                        "example or more")
        others = sum(len(row.split(",")) for row in rest.split("->") if row)
        if len(shape) < others:
            raise Error(f"`{name}` has the shape {shape}, but `{rows}` has "
                        f"{others} {'axis' if others == 1 else 'axes'} beside "
                        "the batch")
        return ",".join(map(str, shape[:len(shape) - others])) + "|" + rest

    def _code_for(self, rows: Dict[str, str]) -> _native.Forward:
        """The code for inputs of those rows."""
        key = tuple(rows.values())
        if key in self._compiled:
            return self._compiled[key]
        with self.model._lock:
            if key in self._compiled:  # by another thread
                return self._compiled[key]
            nodes = _built(self.model, self._order, rows, False)
            self._compiled[key] = _native.Forward(
                self.model._session,
                [nodes[id(output)] for output in self._outputs],
                [(name, nodes[id(each)])
                 for name, each in self._inputs.items()])
        return self._compiled[key]


class Generator(Closed):
    """What continues sequences of tokens; see Model.generator."""

    __slots__ = ("_native",)
    _kind = "a generator"

    def __init__(self, logits: Tensor, batch: int, temperature: float,
                 top_k: int) -> None:
        if logits._block is None:
            raise Error(f"`{logits.name}` is not the logits of decoder_only(), "
                        "which continues sequences")
        with logits.model._lock:
            self._native = _native.Generation(
                logits._block, logits._node, batch, temperature, top_k)

    @checked
    def __call__(self, prompt: Any, count: int) -> _native.Array:
        """The `count` tokens after each row of `prompt`, i32 of the shape
        (batch, given): (batch, count). It reads the parameters as they are."""
        return self._native.run(prompt, count)
