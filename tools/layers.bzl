"""The order of the folders: the way of the data, from left to right.

A file includes only from its own folder and from folders to the left of it;
the folders of one row do not see each other. tools/BUILD makes Bazel's
visibility of this table, and tests/layer_test.py checks the #include lines.
"""

LAYERS = [
    ["ocannl/core/base"],
    ["ocannl/core/ops"],
    ["ocannl/core/index"],
    ["ocannl/core/tensor"],
    ["ocannl/core/shape"],
    ["ocannl/core/assign"],
    ["ocannl/core/notation"],
    ["ocannl/core/loop"],
    ["ocannl/core/cd"],  # the text of assignments
    ["ocannl/core/analysis"],  # what passes and schedulers ask
    ["ocannl/core/opt"],
    ["ocannl/core/schedule"],
    ["ocannl/core/runtime"],
    ["ocannl/core/tiering"],
    ["ocannl/core/codegen"],  # what native tiers share
    ["ocannl/core"],  # compile and explain: the whole way
    ["ocannl/interp", "ocannl/jit", "ocannl/cuda"],
    ["ocannl/emulation"],  # a GPU without its hardware
    ["ocannl/fuzz"],  # every tier against the interpreter
    ["ocannl/train", "ocannl/tiers", "ocannl/tune"],
    ["ocannl/onnx"],  # models of others
    ["ocannl/flags"],  # the flags of programs, and what they choose
    ["ocannl"],  # the umbrella header
    ["ocannl/cli"],  # the command-line tool
    ["experiments"],
    ["python"],
    ["tests"],
]

# Rooms that the umbrella header, experiments and tests include, and nothing
# else: the names of other libraries.
APART = ["ocannl/train/compat"]
