// SPDX-License-Identifier: Apache-2.0
//
// Lanes so far apart that 31 bits do not reach the last one. The array takes
// 2.5 GB.
#include <string>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/tiers.h"
#include "tests/support/must_parse.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

constexpr char kProgram[] = R"(p ():
  in a : f32[16, 64];
  temp x : f32[16, 40000000];
  out y : f32[64, 16];
  out z : f32[3, 16];
  for i0 = 0 to 15 { for i1 = 0 to 63 { x[i0, i1] := a[i0, i1]; } }
  for i2 = 0 to 63 { for i3 = 0 to 15 { y[i2, i3] := x[i3, i2]; } }
  for i4 = 0 to 2 { for i5 = 0 to 15 { z[i4, i5] := x[i5, i4]; } }
)";

TEST(FarLanesTest, AreReached) {
  if (AvailableTiers().size() == 1) GTEST_SKIP() << "needs AVX2";
  NdArray a(DType::kF32, {16, 64});
  for (int64_t k = 0; k < a.size(); ++k) {
    a.values<float>()[k] = static_cast<float>(k);
  }
  for (const std::string& tier : AvailableTiers()) {
    if (tier == "interp") continue;  // it has no lanes
    const TestDevice host(*FindTier(tier, {.threads = 1}));
    const Context& context = host.context;
    CHECK_OK(context.Write("a", a));
    absl::StatusOr<Routine> routine =
        context.CompileAndLink(MustParse(kProgram));
    ASSERT_TRUE(routine.ok()) << routine.status();
    ASSERT_TRUE(routine->Run().ok());
    const NdArray y = *context.Read("y");
    const NdArray z = *context.Read("z");
    for (int64_t row = 0; row < 16; ++row) {
      for (int64_t column = 0; column < 64; ++column) {
        const auto expected = static_cast<float>(64 * row + column);
        ASSERT_EQ(y.values<float>()[16 * column + row], expected) << tier;
        if (column > 2) continue;
        ASSERT_EQ(z.values<float>()[16 * column + row], expected) << tier;
      }
    }
  }
}

}  // namespace
}  // namespace ocannl
