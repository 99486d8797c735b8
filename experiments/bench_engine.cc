// SPDX-License-Identifier: Apache-2.0
//
// What the engine costs beside the work of programs, on Google Benchmark: a
// call of a routine that does next to nothing, and how making a graph, parsing
// one, inferring its shapes, and lowering and optimising a training step grow
// with the number of layers.
//
//   bazel run //experiments:bench_engine -- --benchmark_filter=call
//   bazel run //experiments:bench_engine -- --benchmark_out=engine.json
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmark/benchmark.h"
#include "experiments/bench/programs.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/notation/parse.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"

namespace ocannl {
namespace {

constexpr char kAdd[] = R"(
add (k : [0..9]):
  in x : f32[10];
  inout y : f32[1];
  y[0] := y[0] + x[k];
)";

void Call(benchmark::State& state, const std::string& tier) {
  absl::StatusOr<const Backend*> backend = FindTier(tier, {.threads = 1});
  CHECK_OK(backend);
  Device device("host", *backend);
  Stream stream(&device);
  Context context(&stream);
  CHECK_OK(context.Write("x", NdArray(DType::kF32, {10})));
  CHECK_OK(context.Write("y", NdArray(DType::kF32, {1})));
  absl::StatusOr<LoopProgram> add = Parse(kAdd);
  CHECK_OK(add);
  absl::StatusOr<Routine> routine = context.CompileAndLink(*std::move(add));
  CHECK_OK(routine);
  CHECK_OK(routine->Set("k", 3));
  // Runs may wait until somebody looks: these do so together.
  constexpr int64_t kBatch = 1000;
  while (state.KeepRunningBatch(kBatch)) {
    for (int64_t run = 0; run < kBatch; ++run) CHECK_OK(routine->Run());
    stream.Sync();
  }
}

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

void Build(benchmark::State& state) {
  for (auto _ : state) {
    Graph graph;
    benchmark::DoNotOptimize(Chain(graph, state.range(0)));
  }
  state.SetComplexityN(state.range(0));
}

void ParseText(benchmark::State& state) {
  for (auto _ : state) {
    Graph graph;
    const Tensor x = Input(graph);
    Tensor h = x;
    for (int64_t k = 0; k < state.range(0); ++k) {
      const Names names = {
          .tensors = {{"x", x}, {"h", h}}, .statics = {}, .numbers = {}};
      absl::StatusOr<ParsedTensor> parsed =
          ParseTensor(graph, "relu ({w} * h + {b}) + x", names);
      CHECK_OK(parsed);
      h = parsed->tensor;
    }
  }
  state.SetComplexityN(state.range(0));
}

void Infer(benchmark::State& state) {
  Graph graph;
  const Tensor h = Chain(graph, state.range(0));
  int64_t steps = 0;
  for (auto _ : state) {
    Shapes shapes;
    steps = 0;
    CHECK_OK(InferShapes(graph, {h.id}, shapes, &steps));
  }
  state.SetComplexityN(state.range(0));
  state.counters["steps_per_layer"] =
      static_cast<double>(steps) / static_cast<double>(state.range(0));
}

// From assignments to an optimised program.
void Lower(benchmark::State& state) {
  const absl::StatusOr<Assignments> step = MlpStep(
      {.sizes = std::vector<int64_t>(state.range(0) + 1, 24), .batch = 20});
  CHECK_OK(step);
  for (auto _ : state) CHECK_OK(CompileProgram(*step, {}));
  state.SetComplexityN(state.range(0));
}

void RegisterAll() {
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    benchmark::RegisterBenchmark(
        absl::StrCat("call/", tier).c_str(),
        [tier](benchmark::State& state) { Call(state, tier); });
  }
  using Function = void (*)(benchmark::State&);
  for (const auto& [name, function] :
       {std::pair<const char*, Function>{"build", Build},
        {"parse", ParseText},
        {"infer", Infer}}) {
    benchmark::RegisterBenchmark(name, function)
        ->RangeMultiplier(2)
        ->Range(256, 4096)
        ->Unit(benchmark::kMillisecond)
        ->Complexity();
  }
  benchmark::RegisterBenchmark("lower", Lower)
      ->RangeMultiplier(2)
      ->Range(1, 64)
      ->Unit(benchmark::kMillisecond)
      ->Complexity();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  return ocannl::RunMain([] {
    ocannl::RegisterAll();
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
  });
}
