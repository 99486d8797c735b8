// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/call_order.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "tests/support/must_parse.h"

namespace ocannl::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::vector<size_t>> OrderOf(const char* text) {
  const LoopProgram program = MustParse(text);
  const absl::StatusOr<BufferPlan> plan = PlanBuffers(program);
  CHECK_OK(plan);
  return CallOrder(program, WriteKernels(program).kernels, *plan);
}

TEST(CallOrderTest, WaitsForWhatItNeedsOnly) {
  // Not the last one for the first: the third did.
  EXPECT_THAT(
      OrderOf(R"(
      p ():
        in x : f32[8]; out y : f32[8]; out z : f32[8]; temp a : f32[8];
        temp b : f32[8];
        grid i11 = 0 to 0 { thread i0 = 0 to 7 { a[i0] := x[i0]; } }
        grid i12 = 0 to 0 { thread i1 = 0 to 7 { b[i1] := x[i1]; } }
        grid i13 = 0 to 0 { thread i2 = 0 to 7 { y[i2] := a[i2] + b[i2]; } }
        grid i14 = 0 to 0 { thread i3 = 0 to 7 { z[i3] := a[i3] + y[i3]; } })"),
      ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1, 0), ElementsAre(2)));
}

TEST(CallOrderTest, WritersWaitForReaders) {
  EXPECT_THAT(
      OrderOf(R"(
      p ():
        inout x : f32[8]; out y : f32[8]; out z : f32[8];
        grid i15 = 0 to 0 { thread i0 = 0 to 7 { y[i0] := x[i0]; } }
        grid i16 = 0 to 0 { thread i1 = 0 to 7 { z[i1] := x[7 - i1]; } }
        grid i17 = 0 to 0 { thread i2 = 0 to 7 { x[i2] := 1; } }
        grid i18 = 0 to 0 { thread i3 = 0 to 7 { x[i3] := 2; } })"),
      ElementsAre(IsEmpty(), IsEmpty(), ElementsAre(1, 0), ElementsAre(2)));
}

// Temp b takes the memory of a, whose last reader is the second kernel.
TEST(CallOrderTest, TempsThatShareMemoryAreOneBuffer) {
  EXPECT_THAT(
      OrderOf(R"(
      p ():
        in x : f32[8]; out y : f32[8]; out z : f32[8]; temp a : f32[8];
        temp b : f32[8];
        grid i19 = 0 to 0 { thread i0 = 0 to 7 { a[i0] := x[i0]; } }
        grid i20 = 0 to 0 { thread i1 = 0 to 7 { y[i1] := a[i1]; } }
        grid i21 = 0 to 0 { thread i2 = 0 to 7 { b[i2] := x[i2] + 1; } }
        grid i22 = 0 to 0 { thread i3 = 0 to 7 { z[i3] := b[i3]; } })"),
      ElementsAre(IsEmpty(), ElementsAre(0), ElementsAre(1), ElementsAre(2)));
}

}  // namespace
}  // namespace ocannl::cuda
