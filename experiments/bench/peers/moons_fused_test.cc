// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/peers/moons_fused.h"

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(FusedMoonsTest, TrainsAsThePlainLoopsDo) {
  if (!FusedMoons::IsSupported()) GTEST_SKIP() << "needs AVX-512";
  MoonsArrays arrays{};
  // Numbers in [-0.5, 0.5), none like its neighbours.
  auto* numbers = reinterpret_cast<float*>(&arrays);
  for (uint32_t i = 0; i < sizeof(arrays) / sizeof(float); ++i) {
    numbers[i] = static_cast<float>((i * 2654435769u) >> 8) * 0x1p-24f - 0.5f;
  }
  for (auto& batch : arrays.y) {
    for (float& y : batch) y = y < 0 ? -1 : 1;
  }
  FusedMoons fused(arrays);
  float first = 0;
  for (int step = 0; step < 2 * kMoonsBatches; ++step) {
    int batch = step % kMoonsBatches;
    PlainMoonsStep(batch, step, arrays);
    fused.Step(batch, step);
    if (step == 0) first = arrays.loss[0];
    ASSERT_NEAR(fused.loss(), arrays.loss[0], 1e-3) << step;
  }
  EXPECT_NE(arrays.loss[0], first);
}

}  // namespace
}  // namespace ocannl
