# SPDX-License-Identifier: Apache-2.0
"""What users of PyTorch, Keras, JAX and NumPy write, and what it is here."""

from typing import Dict

_FIT = "ocannl.fit(step, examples, batch_size=...) runs a training loop"
_LAYERS = "layers are functions: ocannl.linear(x, 64)"
_VALUE = "model.predict(tensor)(...) computes values"
_CUDA = "ocannl.Model(tier=\"cuda\") runs on a GPU"
_RESHAPE = ".reshape(rows) gives other axes"
_PERMUTE = "ocannl.einsum(\"a, b => b, a\", x) permutes axes"
_CONCAT = "ocannl.concat(\"...|a; ...|b => ...|a^b\", x, y) does"
_PART = "ocannl.part(\"...|i\", x, start, size) takes cells along an axis"
_EXPAND = "operands broadcast, and ocannl.stretch(x) repeats"
_OPTIMISER = "optimisers are functions: ocannl.adamw(1e-3)"
_SCHEDULE = ("a schedule is a learning rate: "
             "ocannl.sgd(ocannl.cosine(0.1, 0.0, steps=1000))")
_IMMUTABLE = "tensors are expressions, which never change: y = x + 1"
_CLIP = "ocannl.minimum(ocannl.maximum(x, low), high) is the same"
_SPECS = "specs name axes: x.sum(\"b|i => b|\")"
_FREEZE = "model.freeze(\"conv*\") keeps parameters as they are"
_PARAMETERS = "a model maps names to parameters: list(model), model[name]"
_FILES = "model.save(path) and model.load(path) keep parameters"
_GRADIENTS = ("a call of the step that model.train(loss, optimiser) returns "
              "computes the gradients and updates the parameters")
_MEASURE = "measure in after_epoch, with model.predict(tensor)(...)"

# Of anything.
HINTS: Dict[str, str] = {
    "arange": "model.constant(name, numpy.arange(n, dtype=\"i4\"), \"n\", "
              "\"i32\") has them",
    "array": "ocannl.Array(values, dtype) is an array of the host, "
             "model.constant(name, values, rows) a tensor",
    "astype": ".to(\"i32\") converts a tensor",
    "backward": _GRADIENTS,
    "batch_size": "ocannl.fit(step, examples, batch_size=...) makes batches",
    "compile": "model.train() and model.predict() compile",
    "copy": "tensors are expressions, which never change",
    "cpu": _VALUE,
    "cuda": _CUDA,
    "device": _CUDA,
    "dot": "a @ b multiplies tensors",
    "epochs": "ocannl.fit(step, examples, epochs=...) runs a training loop",
    "eval": "predictions are never in training mode",
    "fit": _FIT,
    "float": ".to(\"f32\") converts a tensor",
    "grad": "steps compute gradients: model.train(loss, optimiser)",
    "item": _VALUE,
    "load": "model.load(path) reads parameters",
    "numpy": _VALUE,
    "save": "model.save(path) writes parameters",
    "step": "a call of what model.train(loss, optimiser) returns is a step",
    "T": _PERMUTE,
    "tolist": _VALUE,
    "transpose": _PERMUTE,
    "zero_grad": "each step computes its gradients anew",
}
HINTS.update(dict.fromkeys(("mm", "matmul", "bmm", "tensordot"), HINTS["dot"]))
HINTS.update(dict.fromkeys(
    ("permute", "t", "swapaxes", "moveaxis"), _PERMUTE))
HINTS.update(dict.fromkeys(
    ("squeeze", "unsqueeze", "view", "expand_dims", "newaxis", "ravel",
     "reshape", "permute_dims"), _RESHAPE))
HINTS["flatten"] = ".reshape(\"|_\") makes one axis"
HINTS.update(dict.fromkeys(("clamp", "clip"), _CLIP))
HINTS.update(dict.fromkeys(("cat", "concatenate", "hstack", "vstack"), _CONCAT))
HINTS.update(dict.fromkeys(
    ("chunk", "split", "slice", "narrow", "select", "take"), _PART))
HINTS.update(dict.fromkeys(
    ("expand", "repeat", "tile", "broadcast_to", "expand_as"), _EXPAND))
HINTS.update(dict.fromkeys(
    ("std", "var"),
    "ocannl.square(x - x.mean()).mean() is the variance; axes are named by "
    "specs"))
HINTS.update({
    "min": "(-(-x).max(spec)) is the least cell; ocannl.minimum(a, b) that of "
           "two",
    "max": "x.max(\"b|i => b|\") takes axes away, ocannl.maximum(a, b) is the "
           "greater of two",
    "norm": "ocannl.sqrt(ocannl.square(x).sum()) is the same",
    "swish": "it is ocannl.silu(x)",
    "leaky_relu": "ocannl.maximum(x, 0.01 * x) is the same",
    "elu": "ocannl.where(x > 0, x, ocannl.expm1(x)) is the same",
    "masked_fill": "ocannl.where(mask, value, x) is the same",
    "prod": "ocannl.exp(ocannl.log(x).sum(spec)) is that of positive numbers",
})

# Of kinds of things, which come first.
OF_KIND: Dict[str, Dict[str, str]] = {
    "ocannl": {
        "DataLoader": HINTS["batch_size"],
        "Module": _LAYERS,
        "MultiHeadAttention": "it is ocannl.attention(x, size=64, heads=4)",
        "Sequential": "layers are functions: "
                      "ocannl.linear(ocannl.relu(x), 64)",
        "Variable": "parameters are made by layers, and by texts: "
                    "model.parse(\"{w} * x\", x=x)",
        "as_tensor": "an array of each call is model.input(name, rows), one "
                     "that stays model.constant(name, values, rows)",
        "numpy": "functions of tensors are ocannl's own: ocannl.exp(x)",
        "random": "ocannl.Model(seed=1) has the seed, and model.normal() and "
                  "model.uniform() numbers",
        "jit": "model.train() and model.predict() compile",
        "max": HINTS["max"],
        "l1_loss": "ocannl.abs(values - targets).mean() is the same",
        "mean": "it is a method: x.mean(), x.mean(\"b|i => b|\")",
        "mse_loss": "it is ocannl.mean_squared_error(values, targets)",
        "nll_loss": "ocannl.cross_entropy(logits, ocannl.one_hot(ids, n)) is "
                    "of logits and classes",
        "binary_cross_entropy": "of logits z and targets y, "
                                "(ocannl.softplus(z) - y * z).mean()",
        "no_grad": "predictions compute no gradients; .detach() stops one",
        "ones": "a number is a tensor of any shape: x * 0 + 1",
        "rand": "model.uniform() has random numbers",
        "randn": "model.normal() has random numbers",
        "seed": "ocannl.Model(seed=1) has a seed",
        "set_default_dtype": "tensors have dtypes: "
                             "model.input(name, rows, \"f16\")",
        "sum": "it is a method: x.sum(), x.sum(\"b|i => b|\")",
        "vmap": "a batch axis is a part of the shape: "
                "model.input(\"x\", \"32|2\")",
        "zeros": "a number is a tensor of any shape: x * 0",
        "utils": "ocannl.adamw(1e-3).clipped(1.0) clips gradients",
    },
    "a model": {
        "add": _LAYERS,
        "layers": "tensors are layers' results; keep them in variables",
        "forward": _VALUE,
        "evaluate": _MEASURE,
        "half": "tensors have dtypes: x.to(\"bf16\") computes in it",
        "modules": _PARAMETERS,
        "requires_grad_": _FREEZE,
        "step_num": "model.step_number() is a tensor, step.count a number",
        "summary": "repr(model) counts parameters, and notebooks show a table; "
                   "{name: model[name].shape for name in model} has shapes",
        "to": "the device is chosen first: ocannl.Model(tier=\"cuda\")",
        "zeros": "model.constant(name, values, rows) holds an array",
    },
    "a tensor": {
        "contiguous": "arrays are row-major always",
        "data": _VALUE,
        "ndim": "it is len(x.shape)",
        "dim": "it is len(x.shape)",
        "size": "x.shape has the sizes, and x.rows their roles",
        "numel": "math.prod(x.shape) is the number of cells",
        "is_cuda": _CUDA,
        "requires_grad": ".detach() stops a gradient, and " + _FREEZE,
        "type": "x.dtype is the dtype; .to(\"f32\") converts",
        "double": ".to(\"f64\") converts a tensor",
        "half": ".to(\"f16\") converts a tensor",
        "bfloat16": ".to(\"bf16\") converts a tensor",
        "long": ".to(\"i64\") converts a tensor",
        "int": ".to(\"i32\") converts a tensor",
        "bool": "x != 0 is a tensor of bools",
        "clone": HINTS["copy"],
        "eq": "x == y compares cells",
        "add": "x + y adds tensors",
        "sub": "x - y subtracts tensors",
        "mul": "x * y multiplies cells, x @ y tensors",
        "div": "x / y divides cells",
        "neg": "-x is the same",
        "pow": "x ** 2 is the power",
        "abs": "abs(x) has no signs",
    },
    "a loss": {
        "mean": "it is one number: float(loss)",
        "sum": "it is one number: float(loss)",
    },
    "a step": {
        "parameters": _PARAMETERS,
        "loss": "a call returns the loss: float(step(x=array))",
        "lr": _SCHEDULE,
        "run": "a step is called: step(x=array)",
        "train": "a step is called: step(x=array)",
        "step": "a step is called: step(x=array)",
        "step_number": "it is step.count",
        "predict": "model.predict(tensor)(x=array) computes values",
        "state_dict": "step.save(path) and step.load(path) keep all that a "
                      "training needs",
    },
    "a prediction": {
        "predict": "a prediction is called: f(x=array)",
        "run": "a prediction is called: f(x=array)",
        "forward": "a prediction is called: f(x=array)",
        "numpy": "a call returns an array: f(x=array).numpy()",
        "shape": "a call returns an array: f(x=array).shape",
        "save": "model.save(path) writes parameters",
    },
    "an optimiser": {
        "step": _GRADIENTS,
        "minimize": _GRADIENTS,
        "lr": _SCHEDULE,
        "param_groups": _SCHEDULE,
        "state_dict": "step.save(path) keeps its state",
        "load_state_dict": "step.load(path) reads its state",
        "clip": ".clipped(max_norm) clips gradients",
        "rules": "functions make optimisers: ocannl.adamw(1e-3)",
    },
    "an ocannl.Array": {
        "grad": "gradients are not kept; a step uses them",
        "requires_grad": _FREEZE,
    },
}
for _name in ("Dense", "nn", "F", "functional", "layers", "keras"):
    OF_KIND["ocannl"][_name] = _LAYERS
for _name in ("optim", "optimizers", "optax", "Optimizer"):
    OF_KIND["ocannl"][_name] = _OPTIMISER
for _name in ("tensor", "from_numpy", "Input", "placeholder"):
    OF_KIND["ocannl"][_name] = OF_KIND["ocannl"]["as_tensor"]
OF_KIND["ocannl"]["Parameter"] = OF_KIND["ocannl"]["Variable"]
for _name in ("MSELoss", "mse"):
    OF_KIND["ocannl"][_name] = OF_KIND["ocannl"]["mse_loss"]
for _name in ("BCELoss", "BCEWithLogitsLoss"):
    OF_KIND["ocannl"][_name] = OF_KIND["ocannl"]["binary_cross_entropy"]
OF_KIND["ocannl"]["manual_seed"] = OF_KIND["ocannl"]["seed"]
for _name in ("lr_scheduler", "CosineAnnealingLR", "StepLR", "schedules"):
    OF_KIND["ocannl"][_name] = _SCHEDULE
for _name in ("value_and_grad", "GradientTape"):
    OF_KIND["ocannl"][_name] = HINTS["grad"]
for _name in ("float32", "float16", "int32", "int64", "bfloat16", "float64"):
    OF_KIND["ocannl"][_name] = "dtypes are names: \"f32\", \"i32\""
for _name in ("parameters", "named_parameters", "params", "weights",
              "trainable_variables", "get_weights", "buffers"):
    OF_KIND["a model"][_name] = _PARAMETERS
for _name in ("state_dict", "load_state_dict", "save_weights", "load_weights",
              "set_weights"):
    OF_KIND["a model"][_name] = _FILES
for _name in ("cpu", "detach", "to", "cuda"):
    OF_KIND["an ocannl.Array"][_name] = (
        "it is an array in the memory of the host: array.numpy()")
for _name in ("numpy", "cpu", "detach", "data", "shape", "tolist", "dtype"):
    OF_KIND["a loss"][_name] = "it is one number: float(loss)"
for _kind in ("a step", "a prediction"):
    OF_KIND[_kind]["to"] = OF_KIND[_kind]["cpu"] = _CUDA

# Of keywords.
KEYWORDS: Dict[str, str] = {
    "activation": "apply it to the result: ocannl.relu(ocannl.linear(x, 64))",
    "axis": _SPECS,
    "betas": "give beta1 and beta2",
    "callbacks": "after_epoch is called after each epoch",
    "devices": "give shards",
    "dim": _SPECS,
    "dtype": "tensors have dtypes: model.input(name, rows, \"f16\")",
    "embedding_dim": "give size",
    "eps": "give epsilon",
    "features": "give outputs",
    "filters": "give channels",
    "in_channels": "give inputs",
    "in_features": "the inputs are those of x",
    "inplace": "tensors are expressions, which never change",
    "keepdim": "give specs that keep an axis: x.sum(\"b|i => b|0\")",
    "kernel_size": "give kernel",
    "learning_rate": "the learning rate is the first argument of an optimiser",
    "lr": "the learning rate is the first argument of an optimiser",
    "max_norm": "ocannl.adamw(1e-3).clipped(1.0) clips gradients",
    "num_embeddings": "give count",
    "num_heads": "give heads",
    "num_layers": "give layers",
    "optimizer": "give optimiser",
    "out_channels": "give channels",
    "out_features": "give outputs",
    "p": "give rate",
    "params": _FREEZE,
    "reduction": "it is a mean over the batch; times its size, it is the sum",
    "shape": "give rows, such as \"32|2\"",
    "strides": "give stride",
    "T_max": "give steps",
    "total_steps": "give steps",
    "training": "steps train and predictions do not",
    "trainable": _FREEZE,
    "units": "give outputs",
    "validation_data": _MEASURE,
    "verbose": "after_epoch is called after each epoch",
    "vocab_size": "give vocabulary",
    "warmup_steps": "give warmup",
}
for _name in ("batch_size", "epochs", "device"):
    KEYWORDS[_name] = HINTS[_name]
KEYWORDS["keepdims"] = KEYWORDS["keepdim"]

# What to give where an argument has another type, by its name.
SUCH_AS: Dict[str, str] = {
    "rows": "such as \"32|2\", which is batch|output",
    "optimiser": "such as ocannl.adamw(1e-3)",
    "examples": "such as {\"x\": array, \"y\": array}",
    "sizes": "such as [64, 10]",
    "step": "that of model.train(loss, optimiser)",
    "path": "such as \"net.npz\"",
    "loss": "such as ocannl.mean_squared_error(scores, y)",
}

# And where it is an array.
ARRAYS: Dict[str, str] = {
    "outputs": "; a prediction is called with arrays: "
               "model.predict(tensor)(x=array)",
}

# Of attributes that users set.
SETTING: Dict[str, str] = {
    "name": ".named(name) gives a tensor a name",
    "dtype": ".to(dtype) gives a tensor of another one",
    "shape": _RESHAPE,
    "rows": _RESHAPE,
    "requires_grad": _FREEZE,
    "trainable": _FREEZE,
    "count": "step.load(path) sets it",
    "rate": _SCHEDULE,
    "lr": _SCHEDULE,
    "learning_rate": _SCHEDULE,
    "data": "model[name] = array assigns a parameter",
}
