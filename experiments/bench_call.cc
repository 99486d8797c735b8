// SPDX-License-Identifier: Apache-2.0
//
// What a run of a routine costs beside its work: nanoseconds per run of a
// program that does next to nothing, on each tier. The least of some rounds.
//
//   bazel run //experiments:bench_call -- --runs=100000
#include <algorithm>
#include <chrono>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/run_main.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/tiers.h"

namespace ocannl {
namespace {

constexpr char kProgram[] = R"(
add (k : [0..9]):
  in x : f32[10];
  inout y : f32[1];
  y[0] := y[0] + x[k];
)";

absl::StatusOr<double> NanosecondsPerRun(const std::string& tier,
                                         int64_t runs) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend,
                          FindTier(tier, {.threads = 1}));
  OCANNL_ASSIGN_OR_RETURN(LoopProgram program, Parse(kProgram));
  Device device("host", backend);
  Stream stream(&device);
  Context context(&stream);
  OCANNL_RETURN_IF_ERROR(context.Write("x", NdArray(DType::kF32, {10})));
  OCANNL_RETURN_IF_ERROR(context.Write("y", NdArray(DType::kF32, {1})));
  OCANNL_ASSIGN_OR_RETURN(Routine routine, context.CompileAndLink(program));
  OCANNL_RETURN_IF_ERROR(routine.Set("k", 3));
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 20; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int64_t k = 0; k < runs; ++k) OCANNL_RETURN_IF_ERROR(routine.Run());
    stream.Sync();  // runs may wait until somebody looks
    std::chrono::duration<double, std::nano> time =
        std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count() / static_cast<double>(runs));
  }
  return least;
}

absl::Status Main(const std::vector<std::string>& args) {
  const std::vector<Flag> flags = {{"runs", "100000", "in each round"}};
  OCANNL_ASSIGN_OR_RETURN(CommandLine line, CommandLine::Parse(args, flags));
  OCANNL_ASSIGN_OR_RETURN(int64_t runs, line.GetInt("runs", 1, 1'000'000'000));
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  for (const std::string& tier : tiers) {
    OCANNL_ASSIGN_OR_RETURN(double time, NanosecondsPerRun(tier, runs));
    std::cout << absl::StrFormat("%-12s %8.1f ns\n", tier, time);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::RunMain("bench_call", [&] {
    return ocannl::Main({argv + 1, argv + argc});
  });
}
