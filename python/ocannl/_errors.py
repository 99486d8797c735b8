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
from typing import Any, Callable, Iterable, Optional, Tuple, TypeVar

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


# What users of other libraries write, and what it is here.
_HINTS = {
    "array": "ocannl.Array(values, dtype) is an array of the host, "
             "model.constant(name, values, rows) a tensor",
    "astype": ".to(\"i32\") converts a tensor",
    "backward": "a call of the step that model.train(loss, optimiser) returns "
                "computes the gradients and updates the parameters",
    "copy": "tensors are expressions, which never change",
    "batch_size": "ocannl.fit(step, examples, batch_size=...) makes batches",
    "compile": "model.train() and model.predict() compile",
    "cpu": "model.predict(tensor)(...) computes values",
    "cuda": "ocannl.Model(tier=\"cuda\") runs on a GPU",
    "DataLoader": "ocannl.fit(step, examples, batch_size=...) makes batches",
    "dot": "a @ b multiplies tensors",
    "epochs": "ocannl.fit(step, examples, epochs=...) runs a training loop",
    "eval": "predictions are never in training mode",
    "fit": "ocannl.fit(step, examples, batch_size=...) runs a training loop",
    "flatten": ".reshape(\"|_\") makes one axis",
    "float32": "dtypes are names: \"f32\"",
    "int32": "dtypes are names: \"i32\"",
    "float": ".to(\"f32\") converts a tensor",
    "grad": "steps compute gradients: model.train(loss, optimiser)",
    "item": "model.predict(tensor)(...) computes values",
    "load": "model.load(path) reads parameters",
    "manual_seed": "ocannl.Model(seed=1) has a seed",
    "matmul": "a @ b multiplies tensors",
    "mean": "it is a method: x.mean(), x.mean(\"b|i => b|\")",
    "Module": "layers are functions: ocannl.linear(x, 64)",
    "mse_loss": "it is ocannl.mean_squared_error(values, targets)",
    "nn": "layers are functions: ocannl.linear(x, 64)",
    "no_grad": "predictions compute no gradients; .detach() stops one",
    "numpy": "model.predict(tensor)(...) computes values",
    "ones": "a number is a tensor of any shape: x * 0 + 1",
    "optim": "optimisers are functions: ocannl.adamw(1e-3)",
    "parameters": "a model maps names to parameters: list(model), model[name]",
    "permute": "ocannl.einsum(\"a, b => b, a\", x) permutes axes",
    "rand": "model.uniform() has random numbers",
    "randn": "model.normal() has random numbers",
    "save": "model.save(path) writes parameters",
    "Sequential": "layers are functions: ocannl.linear(ocannl.relu(x), 64)",
    "squeeze": ".reshape(rows) gives other axes",
    "state_dict": "model.save(path) and model.load(path) keep parameters",
    "step": "a call of what model.train(loss, optimiser) returns is a step",
    "sum": "it is a method: x.sum(), x.sum(\"b|i => b|\")",
    "T": "ocannl.einsum(\"a, b => b, a\", x) permutes axes",
    "tensor": "an array of each call is model.input(name, rows), one that "
              "stays model.constant(name, values, rows)",
    "tolist": "model.predict(tensor)(...) computes values",
    "transpose": "ocannl.einsum(\"a, b => b, a\", x) permutes axes",
    "unsqueeze": ".reshape(rows) gives other axes",
    "view": ".reshape(rows) gives other axes",
    "zero_grad": "each step computes its gradients anew",
    "zeros": "a number is a tensor of any shape: x * 0",
    # Keywords.
    "axis": "specs name axes: x.sum(\"b|i => b|\")",
    "dim": "specs name axes: x.sum(\"b|i => b|\")",
    "betas": "give beta1 and beta2",
    "eps": "give epsilon",
    "lr": "the learning rate is the first argument",
    "learning_rate": "the learning rate is the first argument",
    "p": "give rate",
    "num_heads": "give heads",
    "out_features": "give outputs",
    "device": "ocannl.Model(tier=\"cuda\") runs on a GPU",
}


def a(noun: str) -> str:
    """The noun with its article."""
    return ("an " if noun[:1] in "aeioAEIO" else "a ") + noun


def no_attribute(what: str, name: str,
                 known: Iterable[str] = ()) -> AttributeError:
    """The error of a missing attribute, with what users may have meant."""
    near = difflib.get_close_matches(
        name.lower(), [each for each in known if each[0] != "_"], 1)
    hint = _HINTS.get(name) or (f"did you mean {near[0]}?" if near else "")
    return AttributeError(f"{what} has no attribute `{name}`" +
                          (f"; {hint}" if hint else ""))


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
    try:
        bound = signature.bind(*args, **options)
    except TypeError as error:
        plain = [p.replace(annotation=p.empty)
                 for p in signature.parameters.values() if p.name != "self"]
        usage = signature.replace(parameters=plain,
                                  return_annotation=signature.empty)
        hints = [_HINTS[key] for key in options
                 if key not in signature.parameters and key in _HINTS]
        return "; ".join([f"{error}: {name}{usage}", *hints])
    types = typing.get_type_hints(function)
    for key, value in bound.arguments.items():
        kind = signature.parameters[key].kind
        values = (value if kind == inspect.Parameter.VAR_POSITIONAL else
                  value.values() if kind == inspect.Parameter.VAR_KEYWORD else
                  [value])
        for each in values:
            if key in types and not _fits(each, types[key]):
                wanted = _words(types[key])
                fix = ("; model.constant(name, array, rows) makes an array a "
                       "tensor" if "Tensor" in wanted and
                       hasattr(each, "__array__") else "")
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
