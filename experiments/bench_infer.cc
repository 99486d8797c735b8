// SPDX-License-Identifier: Apache-2.0
//
// How the cost of shape inference grows with the number of layers: building a
// chain of layers in C++ and in the notation, and inferring the shapes of its
// parameters. The least of some rounds.
//
//   bazel run //experiments:bench_infer -- --layers=250,500,1000,2000,4000
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl {
namespace {

using Clock = std::chrono::steady_clock;

double MillisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

struct Row {
  double build = std::numeric_limits<double>::infinity();
  double parse = std::numeric_limits<double>::infinity();
  double infer = std::numeric_limits<double>::infinity();
  int64_t steps = 0;
};

Tensor Input(Graph& graph) {
  ShapeSpec spec;
  spec[RowKind::kBatch] = {8};
  spec[RowKind::kInput] = Dims();
  spec[RowKind::kOutput] = {16};
  return Data(graph, "x", NdArray(DType::kF32, {8, 16}), spec);
}

// h = relu(w * h + b) + x, so that nothing but x has a size of its own.
Tensor Chain(Graph& graph, int64_t layers) {
  const Tensor x = Input(graph);
  Tensor h = x;
  for (int64_t k = 0; k < layers; ++k) {
    Tensor w = Param(graph, "w", {}, DType::kF32, nullptr);
    Tensor b = Param(graph, "b", {}, DType::kF32, nullptr);
    h = Relu(w * h + b) + x;
  }
  return h;
}

absl::Status ParseChain(Graph& graph, int64_t layers) {
  const Tensor x = Input(graph);
  Tensor h = x;
  for (int64_t k = 0; k < layers; ++k) {
    const Names names = {
        .tensors = {{"x", x}, {"h", h}}, .statics = {}, .numbers = {}};
    OCANNL_ASSIGN_OR_RETURN(
        ParsedTensor parsed,
        ParseTensor(graph, "relu ({w} * h + {b}) + x", names));
    h = parsed.tensor;
  }
  return absl::OkStatus();
}

absl::StatusOr<Row> Measure(int64_t layers, int64_t rounds) {
  Row row;
  for (int64_t k = 0; k < rounds; ++k) {
    Graph graph;
    auto start = Clock::now();
    const Tensor h = Chain(graph, layers);
    row.build = std::min(row.build, MillisecondsSince(start));
    Shapes shapes;
    row.steps = 0;
    start = Clock::now();
    OCANNL_RETURN_IF_ERROR(InferShapes(graph, {h.id}, shapes, &row.steps));
    row.infer = std::min(row.infer, MillisecondsSince(start));
    Graph parsed;
    start = Clock::now();
    OCANNL_RETURN_IF_ERROR(ParseChain(parsed, layers));
    row.parse = std::min(row.parse, MillisecondsSince(start));
  }
  return row;
}

absl::Status Main(const std::vector<std::string>& args) {
  const std::vector<Flag> flags = {
      {"layers", "250,500,1000,2000,4000", "of each chain"},
      {"rounds", "5", "of which the least counts"}};
  OCANNL_ASSIGN_OR_RETURN(CommandLine line, CommandLine::Parse(args, flags));
  OCANNL_ASSIGN_OR_RETURN(int64_t rounds, line.GetInt("rounds", 1, 1000));
  OCANNL_ASSIGN_OR_RETURN(std::vector<int64_t> all,
                          line.GetIntList("layers", 1, 100'000));
  std::cout
      << "layers   C++ ms   text ms   infer ms   us/layer   steps/layer\n";
  for (int64_t layers : all) {
    OCANNL_ASSIGN_OR_RETURN(Row row, Measure(layers, rounds));
    const auto count = static_cast<double>(layers);
    std::cout << absl::StrFormat("%6d %8.1f %9.1f %10.2f %10.2f %13.1f\n",
                                 layers, row.build, row.parse, row.infer,
                                 1000 * row.infer / count,
                                 static_cast<double>(row.steps) / count);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::RunMain("bench_infer", [&] {
    return ocannl::Main({argv + 1, argv + argc});
  });
}
