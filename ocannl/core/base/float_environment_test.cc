// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/float_environment.h"

#include <cfenv>
#include <limits>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

// The compiler cannot compute with these in advance.
volatile float one = 1;
volatile float tiny = std::numeric_limits<float>::epsilon() / 4;

TEST(FloatEnvironmentTest, RoundsToNearestAndPutsTheOldModeBack) {
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  EXPECT_GT(one + tiny, 1);
  {
    DefaultFloatEnvironment guard;
    EXPECT_EQ(one + tiny, 1);
  }
  EXPECT_GT(one + tiny, 1);
  ASSERT_EQ(std::fesetround(FE_TONEAREST), 0);
}

#if defined(__x86_64__)
TEST(FloatEnvironmentTest, KeepsSubnormals) {
  constexpr unsigned kFlush = 0x8040;  // FTZ and DAZ
  volatile float least = std::numeric_limits<float>::denorm_min();
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | kFlush);
  float flushed = least * one;
  float kept;
  {
    DefaultFloatEnvironment guard;
    kept = least * one;
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_EQ(flushed, 0);
  EXPECT_GT(kept, 0);
  EXPECT_EQ(after & kFlush, kFlush);
}
#endif

}  // namespace
}  // namespace ocannl
