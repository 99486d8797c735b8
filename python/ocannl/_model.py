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
import fnmatch
import html
import keyword
import os
import re
import threading
import weakref
from typing import (Any, Callable, Dict, Iterator, List, NoReturn, Optional,
                    Sequence, Tuple, Union)

from ocannl import _native
from ocannl._errors import Closed, Error, checked, here, hint_of
from ocannl._handles import Generator, Path, Predictor, Step
from ocannl._optim import Optimiser
from ocannl._tensor import Tensor, check_name


def tiers() -> List[str]:
    """The tiers that this machine can run, the interpreter first; "cuda" is not
    among them: see `device_count`."""
    return _native.tiers()


@checked
def device_count(tier: str) -> int:
    """How many devices a tier has: ocannl.Model(tier="cuda:1") is on the second
    GPU. Models on different devices run at the same time in threads."""
    return _native.num_devices(tier)


class _Lock:
    """Held while the graph of a model changes or is compiled: compilations run
    without Python's lock, and go on for a moment after Ctrl-C."""

    __slots__ = ("_lock", "_session")

    def __init__(self, session: _native.Session) -> None:
        self._lock = threading.RLock()
        self._session = session

    def __enter__(self) -> None:
        self._lock.acquire()
        try:
            self._session.wait()
        except BaseException:
            self._lock.release()
            raise

    def __exit__(self, *error: object) -> None:
        self._lock.release()


class Model(Closed, collections.abc.MutableMapping[str, _native.Array]):
    """A graph with its parameters, which it maps by name to arrays.

    `tier` is what runs the code: "auto", "interp", "x86", "x86-avx2",
    "x86-avx512" or "cuda"; all of them compute the same bits. `threads` is how
    many run one routine; 0: one a processor. With `profile`, each part of a
    routine is timed: see `profile()`. Layers compute in `dtype`, such as
    "bf16", and keep their parameters in f32; without it, both have the dtype of
    what they are applied to. Steps of a model with dtype="f16" scale the loss,
    and skip an update whose gradients overflow. Threads that use one model take
    turns.
    """

    __slots__ = ("_session", "_lock", "_layers", "_by_name", "_options",
                 "_predictors", "__weakref__")
    _kind = "a model"

    @checked
    def __init__(self, seed: int = 1, *, tier: str = "auto", threads: int = 0,
                 profile: bool = False, dtype: Optional[str] = None) -> None:
        if isinstance(seed, int) and not 0 <= seed < 2 ** 32:
            raise Error(f"seed={seed}; give one from 0 to 2^32 - 1")
        if isinstance(threads, int) and not 0 <= threads <= 1024:
            raise Error(f"threads={threads}; give 0, for all processors, to "
                        "1024")
        self._session = _native.Session(tier, seed, threads, profile, dtype)
        self._options = (tier, threads, profile)
        self._lock = _Lock(self._session)
        self._layers: Dict[str, Tuple[str, int]] = {}  # and where they are
        # Inputs, constants and what has a name: texts may mention them.
        self._by_name: Dict[str, Tensor] = {}
        # The sizes of their parameters are known when a file is read.
        self._predictors: weakref.WeakSet[Predictor] = weakref.WeakSet()

    # Tensors.

    @checked
    def input(self, name: str, rows: str, dtype: str = "f32") -> Tensor:
        """An array that each call gives: its sizes as batch|input->output, such
        as "10|2". Predictions may have another batch."""
        if not name.isidentifier() or keyword.iskeyword(name):
            raise Error(f"`{name}` is not a name of an input, which calls give "
                        "as a keyword; give letters, digits and `_`")
        where = _native.Where(*here())
        made = Tensor(
            self, [],
            lambda nodes, training: self._session.input(name, rows, dtype,
                                                        where),
            input=(name, rows, dtype))
        self._by_name[made.name] = made
        return made

    @checked
    def constant(self, name: str, values: Any, rows: str,
                 dtype: str = "f32") -> Tensor:
        """An array that is part of the model: a copy of `values`."""
        check_name(name)
        made = self._once(self._session.constant, name, values, rows, dtype)
        self._by_name[made.name] = made
        return made

    def step_number(self) -> Tensor:
        """The number of the step, from 0; 0 in predictions. A learning rate may
        be an expression of it: ocannl.sgd(0.1 / (1 + model.step_number()))."""
        return self._once(self._session.step_number)

    def uniform(self) -> Tensor:
        """Random numbers in [0, 1), others in each step; the shape is that of
        the use."""
        return self._random(self._session.uniform)

    def normal(self) -> Tensor:
        """Random numbers of a standard normal distribution, likewise."""
        return self._random(self._session.normal)

    def _random(self, make: Callable[..., _native.Node]) -> Tensor:
        """The same in predictions; each shard of a step has its own."""
        where = _native.Where(*here())
        first: List[_native.Node] = []

        def apply(nodes: List[_native.Node], training: bool) -> _native.Node:
            if not first:
                first.append(make(where))
                return first[0]
            return make(where) if training else first[0]

        return Tensor(self, [], apply)

    def _once(self, make: Callable[..., _native.Node],
              *options: Any) -> Tensor:
        """The tensor make(*options, where), also in predictions."""
        where = _native.Where(*here())
        with self._lock:
            node = make(*options, where)
        return Tensor(self, [], lambda nodes, training: node)

    @checked
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
        for tensor in tensors.values():
            self._own(tensor)
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
        declared = set(re.findall(r"\{\s*([\w.]+)", code))
        words = set(re.findall(r"[^\W\d]\w*(?:\.\w+)*", code)) - declared
        return {name: tensor for name, tensor in self._by_name.items()
                if name in words}

    def _layer_name(self, name: str, default: str) -> str:
        """The name of a new layer; without one: linear, linear2, ..."""
        if name in self._layers:
            file, line = self._layers[name]
            raise Error(f"there is a layer `{name}` already "
                        f"({os.path.basename(file)}:{line}), and another would "
                        "have parameters of its own; give it another name, or "
                        "none")
        count = 1
        while not name or name in self._layers:
            name = default if count == 1 else f"{default}{count}"
            count += 1
        return name

    # What runs.

    @checked
    def train(self, loss: Tensor, optimiser: Optimiser, *, shards: int = 1,
              reduction: str = "mean") -> Step:
        """Compiles one step that makes `loss`, of one cell, smaller. Parameters
        that have no values get their first ones.

        `shards` parts of each batch are computed at the same time, by as many
        threads as the model has, and their gradients are averaged, or added
        with reduction="sum", where the loss is a sum over the examples. The
        bits depend on the number of shards, and not on that of threads.
        """
        self._own(loss)
        return Step(self, loss, optimiser, shards, reduction)

    @checked
    def predict(self, *outputs: Tensor) -> Predictor:
        """The value of one tensor, or a list of those of several, as a function
        of the inputs. It compiles for a batch when that is given first."""
        if not outputs:
            raise TypeError("predict() needs a tensor")
        for output in outputs:
            self._own(output)
        made = Predictor(self, outputs)
        with self._lock:  # load() iterates over them
            self._predictors.add(made)
        return made

    @checked
    def generator(self, logits: Tensor, *, batch: int = 1,
                  temperature: float = 0.0, top_k: int = 0) -> Generator:
        """What continues sequences by the language model of `logits`, those of
        decoder_only(): one token costs one place, because keys and values of
        the places before are kept.

        `temperature` 0 takes the greatest logit; else tokens are drawn, of the
        `top_k` greatest if that is not 0.
        """
        self._own(logits)
        if batch < 1:
            raise Error(f"batch={batch}; give 1 sequence or more")
        return Generator(logits, batch, temperature, top_k)

    @checked
    def explain(self, *outputs: Tensor) -> Dict[str, str]:
        """Each stage from assignments to machine code as text, by name: "cd",
        "ll", "script", "schedule", "x86"."""
        return self.predict(*outputs).explain()

    @checked
    def profile(self) -> str:
        """Where the time of all models went, as tables of loop nests, the
        routine that took longest first. Of models with profile=True."""
        if not self._options[2]:
            raise Error("no time is measured; make the model with profile=True")
        return _native.profile()

    def tier_report(self) -> str:
        """Which routines ran on which tier so far, and why."""
        return _native.tier_report(self._session)

    def _own(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise TypeError  # `checked` says which argument
        if tensor.model is not self:
            raise Error(f"`{tensor.name}` is a tensor of another model; make "
                        "it in this one")

    # Parameters.

    def __getitem__(self, name: str) -> _native.Array:
        """A copy of the value of a parameter, whose memory NumPy shares."""
        self._check_parameter(name)
        with self._lock:
            return _native.get_parameter(self._session, name)

    def __setitem__(self, name: str, values: Any) -> None:
        self._check_parameter(name)
        with self._lock:
            _native.set_parameter(self._session, name, values)

    def __delitem__(self, name: str) -> None:
        raise TypeError("parameters of a model cannot be deleted")

    def _check_parameter(self, name: object) -> None:
        if isinstance(name, str) and name in self:
            return
        raise _NoParameter(f"there is no parameter {name!r}; the model has: "
                           f"{self._known()}")

    def _known(self) -> str:
        """The names of parameters, of which there may be thousands."""
        names = list(self)
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        return (", ".join(names[:8]) or "none") + more

    def __getattr__(self, name: str) -> Any:
        if name not in Model.__slots__:
            if name in self:
                raise AttributeError(f"a parameter is an item: model[{name!r}]")
            if len(self) > 0 and not hint_of(self._kind, name, dir(Model)):
                raise AttributeError(f"a model has no attribute `{name}`; "
                                     f"model[name] has {self._known()}")
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and name in self:
            raise AttributeError(f"a parameter is an item: model[{name!r}] = "
                                 "array")
        super().__setattr__(name, value)

    def __call__(self, *args: Any, **options: Any) -> NoReturn:
        raise TypeError("a model is not a function: f = model.predict(tensor) "
                        "is one, f(x=array)")

    def __reduce__(self) -> Any:
        raise TypeError("a model cannot be pickled or copied: save its "
                        "parameters by model.save(path), and make it again")

    def __repr__(self) -> str:
        return f"<ocannl.Model of {len(self)} parameters>"

    def _repr_html_(self) -> str:
        with self._lock:
            described = _native.described(self._session)
        rows = "".join(
            f"<tr><td>{name}</td><td>{html.escape(rows)}</td><td>{dtype}</td>"
            "</tr>" for name, rows, dtype in described)
        return ("<table><tr><th>parameter</th><th>batch|input-&gt;output</th>"
                f"<th>dtype</th></tr>{rows}</table>")

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters())

    def __len__(self) -> int:
        return len(self._parameters())

    def __contains__(self, name: object) -> bool:
        if isinstance(name, Tensor):
            raise TypeError("a model has parameters by name: 'w' in model")
        return isinstance(name, str) and name in self._parameters()

    def _parameters(self) -> List[str]:
        with self._lock:
            return _native.parameters(self._session)

    @checked
    def freeze(self, *names: str) -> List[str]:
        """Steps that are made from now on leave these parameters as they are.
        "*" stands for any letters: model.freeze("conv*"). Returns the names of
        all that are frozen."""
        return self._set_frozen(names, True)

    @checked
    def unfreeze(self, *names: str) -> List[str]:
        """Steps that are made from now on train these parameters, likewise."""
        return self._set_frozen(names, False)

    def _set_frozen(self, names: Sequence[str], frozen: bool) -> List[str]:
        if not names:
            raise Error("freeze() and unfreeze() need names of parameters, "
                        "such as \"conv*\", or \"*\" for all")
        with self._lock:
            for name in self._matching(names):
                _native.set_frozen(self._session, name, frozen)
            return _native.frozen(self._session)

    def _matching(self, patterns: Sequence[str]) -> List[str]:
        """The parameters of these names, in which "*" is any letters."""
        found: List[str] = []
        for pattern in patterns:
            if not isinstance(pattern, str) or isinstance(patterns, str):
                raise TypeError  # `checked` says which
            names = fnmatch.filter(self, pattern)
            if not names:
                self._check_parameter(pattern)
            found += names
        return found

    # Models are equal if they are the same one.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @checked
    def params_hash(self) -> str:
        """16 hexadecimal digits of the names, dtypes, sizes and bits of all
        parameters: equal trainings have equal ones."""
        with self._lock:
            return _native.params_hash(self._session)

    @checked
    def save(self, path: Path) -> None:
        """Writes the parameters to a .npz or .safetensors file."""
        with self._lock:
            _native.save(self._session, os.fspath(path))

    @checked
    def load(self, path: Path, *, names: Optional[Dict[str, str]] = None,
             allow_missing: bool = False, allow_extra: bool = False,
             convert: bool = False, layout: Optional[str] = None,
             rename: Optional[List[Tuple[str, str]]] = None,
             only: Optional[Sequence[str]] = None) -> None:
        """Reads parameters from a .npz or .safetensors file: those of all
        train() and predict() so far, or `only` those of some names, such as
        ["body*"].

        `names` says what parameters are called in the file where that is
        another name. `convert=True` also takes floats of another dtype.

        `layout` is "pytorch" for weights as PyTorch stores them, such as
        (out, in, height, width) of a convolution, and "ocannl" for the layout
        of this library. `rename` has rules from parts of names here to parts of
        names there, such as [("encoder_block{n}", "layer.{n-1}")]. An empty
        list is enough for `fc_w` to be `fc.weight`:

            model.load("net.safetensors", layout="pytorch", rename=[])
        """
        if layout not in (None, "ocannl", "pytorch"):
            raise ValueError(f"`layout` is {layout!r}; give 'pytorch' or "
                             "'ocannl'")
        with self._lock:
            some = None if only is None else self._matching(only)
            outputs = [output._node for each in self._predictors
                       for output in each._outputs]
            _native.load(self._session, outputs, os.fspath(path), names or {},
                         allow_missing, allow_extra, convert, layout or "",
                         rename, some)


class _NoParameter(KeyError):
    """A KeyError that is shown as a text."""

    def __str__(self) -> str:
        return str(self.args[0])


_NoParameter.__name__ = _NoParameter.__qualname__ = "KeyError"
_NoParameter.__module__ = "builtins"
