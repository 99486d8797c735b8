// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/first_difference.h"

#include <cmath>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(FirstDifferenceTest, BitsCountButNotThoseOfNans) {
  Buffer buffer = {"y", DType::kF32, Role::kOut, {1}};
  auto differ = [&](float a, float b) {
    return !FirstDifference(buffer, NdArray::Of<float>({1}, {a}),
                            NdArray::Of<float>({1}, {b}))
                .empty();
  };
  EXPECT_TRUE(differ(0.f, -0.f));
  EXPECT_TRUE(differ(1.f, NAN));
  EXPECT_FALSE(differ(NAN, -NAN));
}

}  // namespace
}  // namespace ocannl
