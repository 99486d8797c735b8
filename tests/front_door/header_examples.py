#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C++ of the examples in the comments of public headers.

  header_examples.py OUTPUT HEADER...   writes it
  header_examples.py --selftest         shows that each fault is found

An example is a run of comment lines with three blanks or more after the
slashes. It is C++ that compiles as it is, in the namespaces ocannl and
ocannl::train; GIVEN declares the names that it takes for granted. `...` stands
for what the reader fills in: statements, alone on a line or after `if (x)`; a
value; a body, `{ ... }`; or `for (...)`. Runs that are not C++ are in TEXT.
Public headers are those that ocannl/ocannl.h includes, directly or not, and all
of ocannl/train/ and ocannl/onnx/, but for folders of the latter.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import typing

UMBRELLA = "ocannl/ocannl.h"
FEWEST = 70  # what is not found must not pass

# Of all examples.
GIVEN = """
extern Graph graph;
extern Model model;
extern Tensor x, y, a, b, t, b1, w1, w, h, loss, logits, images, points;
extern Tensor table, ids, labels, next, token, learning_rate, rate;
extern NdArray array, values;
extern LoopProgram program;
extern Assignments code;
extern const Backend* backend;
extern Device device;
extern Stream stream;
extern Context context;
extern Routine step;
extern ParamScope scope;
struct Net {
  Tensor operator()(Tensor x, Training* training = nullptr) const;
  Tensor Step(Tensor token, Decoding& decoding) const;
};
extern Net net;
"""

# Of the examples of one header, in the place of what GIVEN has by these names.
GIVEN_BY_HEADER = {
    "ocannl/core/base/float_environment.h": """
extern Executable& executable;
extern std::vector<std::byte*> buffers;
extern std::vector<int64_t> statics;
""",
    "ocannl/core/base/system/open_file.h": """
extern std::string path;
extern int64_t kMostBytes;
""",
    "ocannl/core/base/containers/id.h": """
extern Shape shape;
void Print(const Shape& shape);
""",
    "ocannl/core/base/containers/stable_vector.h": """
void Print(const Array& array);
void Use(Array array);
""",
    "ocannl/core/base/names.h": """
struct Thing { std::string name; };
extern std::vector<Thing> all;
""",
    "ocannl/core/base/status_macros.h": """
struct Box { int height; };
absl::Status Validate(const Box& box);
absl::StatusOr<int> Width(const Box& box);
""",
    "ocannl/core/runtime/context.h": """
extern NdArray points;
extern std::shared_ptr<const Executable> executable;
""",
    "ocannl/core/runtime/device.h": """
extern interp::InterpBackend backend;
""",
    "ocannl/core/runtime/device_memory.h": """
extern MemorySpace& space;
""",
    "ocannl/core/runtime/device_queue.h": """
extern std::unique_ptr<DeviceQueue> queue, other_queue;
extern Executable& code;
extern std::vector<std::byte*> buffers;
""",
    "ocannl/core/runtime/merge_buffer.h": """
extern MergeBuffer& buffer;
""",
    "ocannl/core/base/user_error.h": """
extern float rate;
""",
    "ocannl/core/runtime/threads/event.h": """
extern Worker worker;
""",
    "ocannl/core/runtime/threads/team.h": """
void ClaimAll(int half, void (*work)(int));
extern int first_half, second_half;
""",
    "ocannl/core/runtime/virtual_devices.h": """
extern NdArray points;
""",
    "ocannl/interp/interp_backend.h": """
extern NdArray x, z;
""",
    "ocannl/interp/observer.h": """
using namespace interp;
using loop_ir::Stmt;
""",
    "ocannl/onnx/import.h": """
extern onnx::ImportedModel net;
""",
    "ocannl/onnx/rules/value.h": """
using onnx::Reduce;
using onnx::Value;
extern Value x;
""",
    "ocannl/train/blocks/attention.h": """
extern Training* training;
""",
    "ocannl/train/blocks/init.h": """
extern ShapeSpec spec;
""",
    "ocannl/train/blocks/loss.h": """
constexpr int kNone = -1;
""",
    "ocannl/train/checkpoint/checkpoint.h": """
extern std::vector<Array> params;
""",
    "ocannl/train/checkpoint/series.h": """
extern std::string dir;
extern std::vector<Array> arrays;
""",
    "ocannl/train/checkpoint/interval.h": """
extern CheckpointSeries series;
extern std::vector<Array> arrays;
extern int64_t steps;
""",
    "ocannl/train/run/forward_all.h": """
extern Tensor attention;
""",
    "ocannl/train/graph/model.h": """
extern Tensor embedding;
""",
    "ocannl/train/graph/code_scope.h": """
extern std::string text;
extern Names names;
""",
    "ocannl/train/text/bert.h": """
extern Tensor mask;
extern Training training;
""",
    "ocannl/train/data/data_loader.h": """
extern NdArray images, classes;
extern int64_t steps_done;
""",
    "ocannl/train/decode/generator.h": """
extern NdArray prompt;
""",
    "ocannl/train/distributed/communicator.h": """
extern Communicator& ranks;
extern absl::Span<std::byte> bytes;
""",
    "ocannl/train/distributed/connect_devices.h": """
extern const Backend& backend;
extern Communicator& ranks;
""",
    "ocannl/train/compat/merge_batch.h": """
extern Context one, two, all;
""",
    "ocannl/train/compat/torch_lean_names.h": """
extern ScalarTrainer& trainer;
extern NdArray x, y;
extern std::vector<std::vector<TrainerInput>> data;
""",
    "ocannl/train/parallel/example_train_loop.h": """
extern VirtualDevices devices;
extern NdArray x;
""",
    "ocannl/train/fit/fit.h": """
extern MakeFitNet make_net;
""",
    "ocannl/train/fit/progress_bar.h": """
extern int epochs;
""",
    "ocannl/train/optim/loss_scale.h": """
extern std::vector<Tensor> params;
""",
    "ocannl/train/parallel/data_parallel.h": """
extern NdArray points, classes;
""",
    "ocannl/train/parallel/replicas.h": """
extern Replicas replicas;
extern int n;
""",
    "ocannl/train/parallel/round_robin.h": """
extern std::vector<Routine> gradients;
extern Routine update;
extern Replicas replicas;
extern StaticRef step;
extern int64_t number;
""",
    "ocannl/train/run/predict.h": """
extern ShapeSpec row;
""",
    "ocannl/train/eager/calls.h": """
extern Ops& ops;
extern Ref x;
Tensor Swish(Tensor x);
""",
    "ocannl/train/eager/param_list.h": """
extern NdArray w, b;
""",
    "ocannl/train/eager/scalar_trainer.h": """
extern interp::InterpBackend backend;
extern NdArray w, b, x, y;
""",
    "ocannl/train/eager/session.h": """
extern interp::InterpBackend backend;
extern ParamList params;
extern NdArray x, y;
extern std::shared_ptr<const UpdateRule> rule;
Ref MeanSquares(Ops& ops, absl::Span<const Ref> args);
""",
}

# These examples define functions.
DEFINITIONS = {
    "ocannl/core/base/status_macros.h",
    "ocannl/train/blocks/call.h",
    "ocannl/train/eager/ops.h",
}

# How the runs begin that are not C++.
TEXT = {
    "ocannl/core/assign/build.h": ["Forward    compute"],
    "ocannl/core/base/number_text.h": ["NumberText(0.1f), "],
    "ocannl/core/index/byte_size.h": ["ByteSize(DType::kF3"],
    "ocannl/core/base/names.h": [
        'UniqueName("acc", ', "NameIndex names;"],
    "ocannl/core/assign/gradient.h": ["t = a * b   ->   a"],
    "ocannl/core/assign/ir.h": ["n35 =:+ w1 * moons", "lhs[lhs_indices] ="],
    "ocannl/train/graph/code_repeat.h": ["sgd_delta_w1 =: w1.grad"],
    "ocannl/core/base/lexer.h": ['Lexer lexer("w1 *.'],
    "ocannl/core/base/narrow_float.h": ["F16::Round(65520)"],
    "ocannl/core/base/containers/pool.h": ["InternPool<ExprId,"],
    "ocannl/core/cd/parse.h": ["slope (i : [0..3])"],
    "ocannl/core/cd/print.h": ["step (i : [0..79])"],
    "ocannl/core/index/projections.h": ["n35 =:+ w1 * x ~lo"],
    "ocannl/core/loop/ir.h": ["dot (i1 : [0..79])"],
    "ocannl/core/notation/parse.h": ["text -> nodes of a", "||   &&   |   ^"],
    "ocannl/core/notation/statements/statements.h": ["text -> Statements"],
    "ocannl/core/runtime/device_network.h": ["rank 0:    OCANNL_"],
    "ocannl/core/runtime/lineage.h": ["init writes w; ste"],
    "ocannl/core/runtime/npy_header.h": [
        "{'descr': '<f4', '", 'w = numpy.load("w.'],
    "ocannl/core/runtime/trace.h": [
        "step(0) log(0) ste", "Searching --a sequ"],
    "ocannl/core/shape/infer.h": ["Graph -> Shapes"],
    "ocannl/core/tensor/einsum/einsum.h": ["text -> EinsumSpec"],
    "ocannl/core/tensor/einsum/einsum_axis.h": ["i"],
    "ocannl/core/tensor/initializer.h": ["a: 2 *. uniform(1"],
    "ocannl/core/tensor/memory_mode.h": ["a parameter asks f"],
    "ocannl/core/tensor/shape.h": ['"2|3->4" is a batc'],
    "ocannl/train/text/sentence_encoder.h": ["config.json       "],
    "ocannl/print_tree.h": ["loss = relu(h) ++", "w: parameter"],
    "ocannl/tiers/tiers.h": ["interp"],
    "ocannl/train/blocks/call.h": ["shape error in `ex"],
    "ocannl/train/blocks/conv.h": [
        "floor((size + p + ", ".padding = Padding"],
    "ocannl/train/blocks/init.h": [".init = XavierUnif"],
    "ocannl/train/blocks/norm.h": ["LayerNorm   scale", "running = (1 - mom"],
    "ocannl/train/blocks/position.h": ["position / base^(2"],
    "ocannl/train/blocks/transformer.h": ["pre_norm    x + dr"],
    "ocannl/train/checkpoint/safetensors.h": ['{"__metadata__": {'],
    "ocannl/train/distributed/mpi.h": ["mpirun -n 4 bazel-"],
    "ocannl/train/fit/metrics_log.h": ['{"epoch":2,"step'],
    "ocannl/train/parallel/replicas.h": ["5: 3 -> 1, 4 -> 2;"],
    "ocannl/train/parallel/shards.h": ["ShardAlong(0 .. 5,"],
    "ocannl/train/eager/function_call.h": ["Tensor, Arg       "],
    "ocannl/train/graph/value_writer.h": ["y =: x ~logic:"],
}

ANY = """
struct Any {
  template <class T>
  operator T() const;
};
"""


class Example(typing.NamedTuple):
    header: str
    line: int  # of the first one, from 1
    text: typing.List[str]


def examples_of(header, text):
    """The runs of indented comment lines."""
    run = re.compile(r"(?:^ *//   +\S.*\n(?:^ *//\n(?= *//   +\S))?)+",
                     re.MULTILINE)
    for match in run.finditer(text):
        yield Example(header, text.count("\n", 0, match.start()) + 1,
                      [re.sub(r"^ *//( {3})?", "", line)
                       for line in match[0].splitlines()])


def filled_in(line):
    """The line with something in the place of each `...`."""
    line = re.sub(r"^\s*\.\.\.;?\s*(//.*)?$", "", line)
    line = re.sub(r"\) \.\.\.\s*(//.*)?$", ") {}", line)
    line = re.sub(r"\{ \.\.\. \}", "{ return Any(); }", line)
    line = re.sub(r"\bfor \(\.\.\.\)", "for (;;)", line)
    return re.sub(r"(= |\(|, )\.\.\.(?=[;)])", r"\1Any()", line)


def given_of(header):
    """GIVEN without the names that the header declares otherwise."""
    own = GIVEN_BY_HEADER.get(header, "")
    names = set(re.findall(r"\b(\w+)(?=[,;(])", own))
    kept = []
    for line in GIVEN.splitlines():
        match = re.fullmatch(r"(extern .*?)(\w+(?:, \w+)*);", line)
        if match:
            left = [name for name in match[2].split(", ") if name not in names]
            line = f"{match[1]}{', '.join(left)};" if left else ""
        kept.append(line)
    return "\n".join(kept) + own


def is_text(example):
    return any(example.text[0].startswith(start)
               for start in TEXT.get(example.header, []))


def source_of(examples):
    parts = [f'#include "{header}"\n' for header in
             [UMBRELLA, *sorted({e.header for e in examples} - {UMBRELLA})]]
    parts.append("using namespace ocannl;\n"
                 "using namespace ocannl::train;\n" + ANY)
    for number, example in enumerate(examples):
        # Inline and not used, so that nothing is generated and linked.
        opening, closing = "inline absl::Status Run() {", (
            "  return absl::OkStatus();\n}")
        if example.header in DEFINITIONS:
            opening, closing = "struct Run {", "};"
        parts.append("\n".join(
            [f"namespace example_{number} {{", given_of(example.header),
             opening, f'#line {example.line} "{example.header}"',
             *map(filled_in, example.text), closing, "}", ""]))
    parts.append(f"constexpr int kExamples = {len(examples)};\n")
    return "".join(parts)


def public(headers):
    """The headers that users read, of a dictionary from name to text."""
    found = set()
    waiting = [UMBRELLA, "ocannl/eigen.h", *(name for name in headers
                           if name.startswith("ocannl/train/") or
                           re.fullmatch(r"ocannl/onnx/\w+\.h", name))]
    while waiting:
        name = waiting.pop()
        if name in headers and name not in found:
            found.add(name)
            waiting += re.findall(r'#include "(ocannl/[^"]+\.h)"',
                                  headers[name])
    return sorted(found)


def examples_in(headers):
    """Those of the public ones, of a dictionary from name to text."""
    found = [example for name in public(headers)
             for example in examples_of(name, headers[name])]
    return [example for example in found if not is_text(example)]


def stale(headers):
    """Entries of TEXT that are no run's, or those of several."""
    for header, starts in TEXT.items():
        runs = list(examples_of(header, headers.get(header, "")))
        for start in starts:
            if sum(run.text[0].startswith(start) for run in runs) != 1:
                yield f"{header}: not one run begins with `{start}`"


def main(output, *paths):
    headers = {path: pathlib.Path(path).read_text(encoding="utf-8")
               for path in paths}
    assert not (found := list(stale(headers))), found
    examples = examples_in(headers)
    assert len(examples) >= FEWEST, f"only {len(examples)} examples"
    pathlib.Path(output).write_text(source_of(examples), encoding="utf-8")


def selftest():
    """Compiles examples of a library of two headers, right and wrong ones."""
    global GIVEN
    GIVEN = "extern int number;\n"
    umbrella = """#include "ocannl/user.h"
        namespace absl { struct Status {}; inline Status OkStatus(); }
        namespace ocannl { namespace train {} }"""

    def errors_of(*comment):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            headers = {UMBRELLA: umbrella, "ocannl/user.h": "".join(
                f"//{line}\n" for line in ["", *comment, ""])}
            for name, text in headers.items():
                path = root / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text, encoding="utf-8")
            (root / "all.cc").write_text(
                source_of(examples_in(headers)), encoding="utf-8")
            return subprocess.run(
                ["c++", "-std=c++20", "-w", "-fsyntax-only", "-I", folder,
                 root / "all.cc"], stderr=subprocess.PIPE, text=True,
                check=False).stderr

    def expect(text, *comment):
        errors = errors_of(*comment)
        assert text in errors if text else not errors, (comment, errors)

    expect("", "   int next = number + 1;", "", "   ++next;  // too")
    expect("", " prose", "   ...", "   int n = ...;", "   for (...) {}",
           "   auto f = [](int) { ... };", "   if (n == 1) ...  // so",
           "   f(...);")
    expect("ocannl/user.h:3:", "   int next = 1;", "   next = unknown;")
    expect("ocannl/user.h:2:", "   number -> next")  # no C++, and not in TEXT
    expect("ocannl/user.h:4:", "   ++number;", " and then", "   ++wrong;")
    expect("not declared", "   int first = 1;", " prose", "   ++first;")
    TEXT["ocannl/user.h"] = ["number ->"]
    expect("", "   number -> next")
    expect("user.h:4:", "   number -> next", " and", "   next -> number;")
    assert len(list(stale({}))) == sum(map(len, TEXT.values()))
    DEFINITIONS.add("ocannl/user.h")
    expect("", "   int Next() { return number + 1; }")
    found = public({UMBRELLA: umbrella, "ocannl/user.h": "",
                    "ocannl/train/more.h": "", "ocannl/inner.h": ""})
    assert found == [UMBRELLA, "ocannl/train/more.h", "ocannl/user.h"], found


if __name__ == "__main__":
    selftest() if sys.argv[1:] == ["--selftest"] else main(*sys.argv[1:])
