// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "experiments/bench/contenders.h"
#include "experiments/bench/programs.h"
#include "experiments/bench/workloads.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/parse.h"

namespace ocannl {
namespace {

constexpr int64_t kOutputs[] = {30, 128, 512, 2048};
// Cells of w: half of L2, and more than all caches of most machines.
constexpr int64_t kCellsInL2 = 1 << 18;
constexpr int64_t kCellsInMemory = 1 << 24;

// One row of outputs, each of them added in order.
constexpr char kChains[] = R"(y_fwd ():
  in x : f32[$1];
  in w : f32[$0, $1];
  out y : f32[$0];
  zero_out y;
  for i0 = 0 to $2 {
    for i1 = 0 to $3 {
      y[i0] := fma(w[i0, i1], x[i1], y[i0]);
    }
  }
)";

absl::StatusOr<LoopProgram> OneRow(int64_t outputs, int64_t inputs,
                                   bool in_lanes) {
  if (!in_lanes) {
    return Parse(
        absl::Substitute(kChains, outputs, inputs, outputs - 1, inputs - 1));
  }
  return ExpressionProgram({{"w", absl::StrCat(outputs, ",", inputs)}},
                           {{"y", "w ++ \"oi => o\""}});
}

WorkloadMaker MakerOf(int64_t outputs, int64_t cells, bool in_lanes) {
  const bool in_l2 = cells == kCellsInL2;
  const int64_t inputs = cells / outputs;
  const std::string name =
      absl::StrCat("rows1/", in_lanes ? "lanes-" : "", outputs, "x", inputs,
                   in_l2 ? "@L2" : "@memory");
  auto make = [=](const Setting& setting) -> absl::StatusOr<Workload> {
    Workload workload{
        .name = name,
        .probe = in_l2 ? ProbeKind::kCacheRead : ProbeKind::kMemoryRead,
        .work = 4. * static_cast<double>(outputs * inputs)};
    OCANNL_ASSIGN_OR_RETURN(LoopProgram program,
                            OneRow(outputs, inputs, in_lanes));
    OCANNL_RETURN_IF_ERROR(AddProgram(setting, {.program = program}, workload));
    return workload;
  };
  return {.name = name, .brief = false, .make = make};
}

}  // namespace

std::vector<WorkloadMaker> OneRowWorkloads() {
  std::vector<WorkloadMaker> makers;
  for (int64_t cells : {kCellsInL2, kCellsInMemory}) {
    for (int64_t outputs : kOutputs) {
      for (bool in_lanes : {false, true}) {
        makers.push_back(MakerOf(outputs, cells, in_lanes));
      }
    }
  }
  return makers;
}

}  // namespace ocannl
