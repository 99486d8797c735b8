// SPDX-License-Identifier: Apache-2.0
//
// A transposed copy to a flat array, which is what a reshape of a transposed
// array is, of many sizes: every target tiles it, and Verify accepts the tiles.
#include <string>
#include <vector>

#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/cpu/decisions.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/jit/vcode/isa.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

LoopProgram ProgramOf(int rows, int columns) {
  return MustParse(absl::Substitute(
      R"(p ():
  in x : f32[$1, $0];
  temp t : f32[$2];
  out y : f32[$2];
  for i0 = 0 to $3 {
    for i1 = 0 to $4 {
      t[$1*i0 + i1] := x[i1, i0];
    }
  }
  for i2 = 0 to $5 {
    y[i2] := t[i2] + t[-i2 + $5];
  }
)",
      rows, columns, rows * columns, rows - 1, columns - 1,
      rows * columns - 1));
}

constexpr int kSizes[] = {2, 3, 5, 7, 8, 9, 15, 16, 17, 20, 31, 34, 48, 65};

// Schedule and PlanGpu end the process where a nest is refused.
TEST(FlatTilesTest, ProcessorsTileThem) {
  int transposed = 0;
  for (int rows : kSizes) {
    for (int columns : kSizes) {
      SCOPED_TRACE(absl::Substitute("$0 x $1", rows, columns));
      const LoopProgram program = ProgramOf(rows, columns);
      for (jit::Isa isa : jit::kIsas) {
        EXPECT_THAT(VerifyPromises(Schedule(program, TargetOf(isa))), IsOk());
        transposed +=
            DecisionsOf(program, TargetOf(isa)).Has(Decision::kTransposedMap);
      }
    }
  }
  EXPECT_GE(transposed, 100);
}

TEST(FlatTilesTest, GpusTileThem) {
  for (int rows : kSizes) {
    for (int columns : kSizes) {
      SCOPED_TRACE(absl::Substitute("$0 x $1", rows, columns));
      const LoopProgram program = ProgramOf(rows, columns);
      for (const gpu::GpuTarget& target :
           {gpu::kTinyGpu, gpu::kMiddleGpu, gpu::kSm90}) {
        const LoopProgram scheduled = gpu::ScheduleGpu(program, target);
        EXPECT_THAT(gpu::VerifyKernels(scheduled), IsOk());
        for (const Stmt& stmt : scheduled.body.stmts) {
          EXPECT_EQ(std::get<For>(stmt).kind, LoopKind::kGrid);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ocannl
