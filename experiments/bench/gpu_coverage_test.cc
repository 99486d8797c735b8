// SPDX-License-Identifier: Apache-2.0
//
// How much of a training step runs in the blocks of a GPU: nearly all, on each
// target. The rest would run in one thread.
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "experiments/bench/dump.h"
#include "experiments/bench/workloads.h"
#include "gtest/gtest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"

namespace ocannl {
namespace {

constexpr double kLeastInBlocks = 0.95;

// How often statements run; if `in_threads`, without phases of one thread.
double Runs(const Block& block, bool in_threads) {
  double runs = 0;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) {
      ++runs;
      continue;
    }
    const gpu::LoopNest nest(*loop);
    if (in_threads && loop->kind == LoopKind::kThread && nest.size == 1) {
      continue;
    }
    runs += static_cast<double>(nest.size) * Runs(nest.body(), in_threads);
  }
  return runs;
}

double ShareInBlocks(const LoopProgram& program) {
  Block blocks;
  absl::c_copy_if(program.body.stmts, std::back_inserter(blocks.stmts),
                  [](const Stmt& stmt) {
                    const For* loop = std::get_if<For>(&stmt);
                    return loop != nullptr && loop->kind == LoopKind::kGrid;
                  });
  return Runs(blocks, true) / Runs(program.body, false);
}

class GpuCoverageTest : public testing::TestWithParam<std::string> {};

TEST_P(GpuCoverageTest, IsNearlyAll) {
  std::vector<WorkloadMaker> makers;
  for (const auto& group : {MoonsWorkloads(), MlpWorkloads(), NetWorkloads()}) {
    absl::c_copy(group, std::back_inserter(makers));
  }
  std::erase_if(makers, [](const WorkloadMaker& maker) {
    return maker.name != GetParam();
  });
  ASSERT_EQ(makers.size(), 1);
  absl::StatusOr<std::vector<LoopProgram>> programs = ProgramsOf(makers[0]);
  CHECK_OK(programs);
  for (const LoopProgram& program : *programs) {
    for (const gpu::GpuTarget& target :
         {gpu::kTinyGpu, gpu::kMiddleGpu, gpu::kSm90}) {
      const double share = ShareInBlocks(gpu::ScheduleGpu(program, target));
      EXPECT_GE(share, kLeastInBlocks) << target.threads << " threads";
      std::printf("%s, %d threads and %d bytes: %.4f\n", GetParam().c_str(),
                  static_cast<int>(target.threads),
                  static_cast<int>(target.shared_bytes), share);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Steps, GpuCoverageTest,
                         testing::Values("moons/kernel", "mlp/wide",
                                         "net/lenet", "net/cifar_conv",
                                         "net/gpt2_mini"));

}  // namespace
}  // namespace ocannl
