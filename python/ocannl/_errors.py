# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, and where in the user's program."""

import collections.abc
import difflib
import functools
import inspect
import numbers
import os
import re
import sys
import typing
from typing import (Any, Callable, Iterable, NoReturn, Optional, Tuple,
                    TypeVar)

from ocannl._hints import (ARRAYS, HINTS, KEYWORDS, OF_KIND, SETTING,
                           SUCH_AS)

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_LIBRARY = os.path.dirname(os.__file__) + os.sep
Function = TypeVar("Function", bound=Callable[..., Any])


class Error(ValueError):
    """What the engine refuses. The message names the thing, the place and the
    fix. The model stays as it was, and usable."""


def here() -> Tuple[str, int]:
    """The file and line of the innermost caller outside of this package."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(
            _PACKAGE):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


# Phrases of messages of the C++ library, and how Python says the same.
_IN_PYTHON = [
    (r"(\w+)\((.*)\), in C\+\+ Convert\(\2, DType::k\w+\)", r'\2.to("\1")'),
    (r"`\*` multiplies tensors; `\*\.` is pointwise, PointMul in C\+\+",
     "`@` multiplies tensors, and `*` is pointwise; in texts these are `*` and "
     "`*.`"),
    (r'give its size, as in \["(\w+)" = 3\] or SetDim', r"give its size: \1=3"),
    (r"\[2, 3\]\] or SetDims", "[2, 3]]"),
    (r"give RestoreOptions::names where arrays have other names there",
     "give names={...} where arrays have other names there"),
    (r"set RestoreOptions::layout to kOcannl, or give the model and its tensor "
     r"with layout kPyTorch", "give layout='ocannl' or layout='pytorch'"),
    (r"set RestoreOptions::layout to kPyTorch or kOcannl",
     "give layout='pytorch' or layout='ocannl'"),
    (r"set RestoreOptions::layout to kPyTorch", "give layout='pytorch'"),
    (r"set RestoreOptions::layout to kOcannl", "give layout='ocannl'"),
    (r"set RestoreOptions::convert", "give convert=True"),
    (r"the shape differs; use the model that it belongs to",
     "the shape differs; use the model that it belongs to, or leave it out: "
     "only=[...] has the names that are read"),
    (r"give OneHot\(targets, classes, DType::kF32\)",
     "give ocannl.one_hot(targets, classes)"),
    (r"limit by --data_limit=MIB, where there is this flag, or in C\+\+ by "
     r"DataLimit::mib", "limit"),
    (r"those of the host are --in=x=FILE\.npy for the tool, Data\(\) in C\+\+",
     "arrays of Python are model.constant(name, array, rows)"),
    (r"is Data\(graph, name, values, spec\) in C\+\+ and --in=x=FILE\.npy for "
     r"the tool", "is model.constant(name, array, rows)"),
    (r"--grad=NAME for the tool, train::GradUpdate\(model, loss\) in C\+\+",
     "model.train(loss, optimiser) computes them"),
    (r"train::LayerNorm\(scope\)\(x\); other norms are in "
     r"train/blocks/norm\.h", "ocannl.layer_norm(x)"),
    (r"train::Dropout\(x, rate, training\)", "ocannl.dropout(x, rate)"),
    (r" \(train/blocks/attention\.h\)", ""),
    (r"train::MultiHeadAttention", "ocannl.attention"),
    (r"train::Conv2d", "ocannl.conv2d"),
    (r"train::CrossEntropy\(logits, targets, {}\)",
     "ocannl.cross_entropy(logits, targets)"),
    (r"train::Mean\(spec, x\)", "x.mean(spec)"),
    (r"train::MeanSquaredError", "ocannl.mean_squared_error"),
    (r"train::LogSoftmax", "ocannl.log_softmax"),
    (r"train::Softmax", "ocannl.softmax"),
    (r"the tool prints the result; C\+\+ reads it by Context::Read",
     "model.predict(tensor)(...) computes values"),
    (r"the operations are in ocannl/core/ops/ops\.def",
     "functions of ocannl have the names of operations"),
    (r", or see train::WithSharedParams", ""),
    (r'as `\+\+ "\.\.\.\|\.\.\. => 0"` gives it',
     "as .sum() and .mean() give it"),
    (r"in C\+\+", "in Python"),
    (r"a tensor of another graph; make that in the graph of the text",
     "a tensor of another model; make it in this one"),
    (r"Not a zip archive",
     "it is not a whole .npz file; write it again or give another"),
    (r"it has no whole header of at most \d+ bytes",
     "it is not a whole .safetensors file; write it again or give another"),
    (r"there is nothing to save or restore",
     "no parameter has a value yet: call train() or predict() first"),
    (r"(it has no `steps_done`[^;]*);.*", r"\1; it is not of Step.save; "
     "Model.load reads files of parameters"),
]


def in_python(message: str) -> str:
    """A message of the C++ library with the words of this package."""
    for theirs, ours in _IN_PYTHON:
        message = re.sub(theirs, ours, message, flags=re.DOTALL)
    return message


def a(noun: str) -> str:
    """The noun with its article."""
    return ("an " if noun[:1] in "aeioAEIO" else "a ") + noun


def _of_the_module(what: str, name: str) -> str:
    """What a name of the module says to a tensor that lacks it, or the other
    way round; "" if nothing."""
    import ocannl

    if what == "a tensor" and name in ocannl.__all__ and inspect.isfunction(
            getattr(ocannl, name)):
        return f"it is a function: {_example(getattr(ocannl, name))}"
    method = vars(ocannl.Tensor).get(name)
    if what == "ocannl" and name[0] != "_" and inspect.isfunction(method):
        return f"it is a method: x.{name}({_needed(method)})"
    return ""


def _needed(function: Callable[..., Any]) -> str:
    return ", ".join(
        p.name for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.name != "self")


def _documented(function: Callable[..., Any]) -> str:
    """A call of it that its docstring has; "" if none."""
    found = re.search(rf"(?<![\w.]){function.__name__}\(\"[^)]*\)",
                      function.__doc__ or "")
    return f"ocannl.{found.group(0)}" if found else ""


def _example(function: Callable[..., Any]) -> str:
    return (_documented(function) or
            f"ocannl.{function.__name__}({_needed(function)})")


def hint_of(what: str, name: str, known: Iterable[str] = ()) -> str:
    """What users may have meant by the attribute `name` of a thing."""
    hint = (OF_KIND.get(what, {}).get(name) or _of_the_module(what, name) or
            HINTS.get(name))
    if hint:
        return hint
    if what == "a tensor" and name.endswith("_"):  # of PyTorch, in place
        return HINTS["copy"]
    near = difflib.get_close_matches(
        name.lower(), [each for each in known if each[0] != "_"], 1, 0.75)
    return f"did you mean {near[0]}?" if near else ""


def no_attribute(what: str, name: str,
                 known: Iterable[str] = ()) -> AttributeError:
    """The error of a missing attribute, with what users may have meant."""
    hint = hint_of(what, name, known)
    return AttributeError(f"{what} has no attribute `{name}`" +
                          (f"; {hint}" if hint else ""))


class Closed:
    """An object that has the attributes of its class only, which are set once.
    Messages call it `_kind`."""

    __slots__ = ()
    _kind = ""

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and (name not in type(self).__slots__ or
                               hasattr(self, name)):  # set already
            raise no_setting(self._kind, name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in type(self).__slots__:  # not set yet
            raise AttributeError(name)
        raise no_attribute(self._kind, name, dir(type(self)))


def no_setting(what: str, name: str) -> AttributeError:
    """The error of an assignment to an attribute."""
    hint = (SETTING.get(name) or OF_KIND.get(what, {}).get(name) or
            f"keep what belongs to {what} in a variable or an object of your "
            "own")
    return AttributeError(f"the attribute `{name}` of {what} cannot be set; "
                          f"{hint}")


class Text(str):
    """A string that is an attribute, and no method."""

    __slots__ = ()

    def __call__(self, *args: Any) -> NoReturn:
        raise TypeError(f"this is an attribute, {str(self)!r}: leave out ()")


class Sizes(Tuple[int, ...]):
    """A shape, which is an attribute, and no method."""

    __slots__ = ()

    def __call__(self, *args: Any) -> NoReturn:
        raise TypeError(f"this is an attribute, {tuple(self)}: leave out ()")


def _words(hint: Any) -> str:
    """A type, as messages call it."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Union:
        each = [_words(part) for part in parts]
        return ", ".join(each[:-1]) + " or " + each[-1]
    if origin is collections.abc.Callable:
        return "a function"
    if origin in (list, tuple, collections.abc.Sequence):
        return "a list of " + _words(parts[0]).split(" ", 1)[-1] + "s"
    if origin in (dict, collections.abc.Mapping):
        return "a dictionary"
    names = {int: "an integer", float: "a number", str: "a string",
             bool: "True or False", type(None): "None"}
    return names.get(hint) or a(getattr(hint, "__name__", str(hint)))


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return True
    if origin is typing.Union:
        return any(_fits(value, part) for part in parts)
    if origin is collections.abc.Callable:
        return callable(value)
    if origin in (list, tuple, collections.abc.Sequence):
        return (isinstance(value, collections.abc.Sequence) and
                not isinstance(value, str) and
                all(_fits(each, parts[0]) for each in value))
    if hint is float:
        return isinstance(value, numbers.Real)
    if hint is int:
        return isinstance(value, numbers.Integral)
    kind = origin or hint
    return not isinstance(kind, type) or isinstance(value, kind)


def _shown(value: Any) -> str:
    """A value as a message shows it: short."""
    text = repr(value)
    kind = a(type(value).__name__)
    if len(text) > 40 or "\n" in text or text.startswith("<"):
        return kind
    return text if value is None else f"{text}, {kind}"


def _why_not(function: Callable[..., Any], args: Tuple[Any, ...],
             options: Any) -> Optional[str]:
    """Which argument `function` does not take, and what it takes."""
    signature = inspect.signature(function)
    name = re.sub(r"\.__(init|call)__", "", function.__qualname__)
    if name.startswith("_"):  # of a base class
        name = re.sub(r"^\w+", type(args[0]).__name__, name)
    plain = [p.replace(annotation=p.empty)
             for p in signature.parameters.values() if p.name != "self"]
    usage = name + str(signature.replace(parameters=plain,
                                         return_annotation=signature.empty))
    try:
        bound = signature.bind(*args, **options)
    except TypeError as error:
        hints = [KEYWORDS[key] for key in options
                 if key not in signature.parameters and key in KEYWORDS]
        if {"axis", "dim"} & set(options) and _documented(function):
            hints = [f"as in {_documented(function)}"]
        if "rate" in signature.parameters and len(args) > 1:  # and parameters
            hints.append("a step trains the parameters of its loss")
        if name == "Model.train" and not args[1:]:
            hints.append("steps are in training mode, and predictions never")
        return "; ".join([f"{error}: {usage}", *hints])
    types = typing.get_type_hints(function)
    for key, value in bound.arguments.items():
        kind = signature.parameters[key].kind
        values = (value if kind == inspect.Parameter.VAR_POSITIONAL else
                  value.values() if kind == inspect.Parameter.VAR_KEYWORD else
                  [value])
        for each in values:
            if key in types and not _fits(each, types[key]):
                wanted = _words(types[key])
                fix = f", {SUCH_AS[key]}" if key in SUCH_AS else ""
                if "Tensor" in wanted and hasattr(each, "__array__"):
                    fix = ("; model.constant(name, array, rows) makes an array "
                           "a tensor")
                    fix = ARRAYS.get(key, fix)
                elif key in ("spec", "axis") and _documented(function):
                    fix = f", as in {_documented(function)}"
                elif type(each).__name__ == "Tensor" or "Tensor" in wanted:
                    fix += f": {usage}"  # the order may be another
                return (f"{name}(): `{key}` is {_shown(each)}, but {wanted} is "
                        f"needed{fix}")
    return None


def _is_ours(error: BaseException) -> bool:
    """Whether it was raised in this package or what that calls of Python, not
    in a function that the user gave."""
    trace = error.__traceback__
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(
                (_PACKAGE, _LIBRARY, "<frozen", "<string>")):
            return False
        trace = trace.tb_next
    return True


def checked(function: Function) -> Function:
    """`function`, whose TypeErrors say which argument is wrong. Nothing is
    checked unless something fails inside of this package."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except (TypeError, AttributeError) as error:
            why = None
            if _is_ours(error):
                why = _why_not(function, args, options)
            if why is None:
                if "incompatible" not in str(error):
                    raise
                why = (f"{function.__qualname__}(): an argument has a wrong "
                       "type or is out of range")
            failure = TypeError(why)
        raise failure

    return typing.cast(Function, call)
