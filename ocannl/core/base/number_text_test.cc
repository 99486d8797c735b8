// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/number_text.h"

#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(NumberTextTest, ShortestThatReadsBack) {
  EXPECT_EQ(NumberText(0.1f), "0.1");
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(static_cast<double>(0.1f)), "0.10000000149011612");
  EXPECT_EQ(NumberText(16777217.0), "16777217");
  EXPECT_EQ(NumberText(-0.0), "-0");
  EXPECT_EQ(NumberText(1e30), "1e+30");
  EXPECT_EQ(NumberText(std::numeric_limits<double>::infinity()), "inf");
}

TEST(NumberTextTest, TheLongestFit) {
  EXPECT_EQ(NumberText(-2.2250738585072014e-308), "-2.2250738585072014e-308");
  EXPECT_EQ(NumberText(std::numeric_limits<int64_t>::min()),
            "-9223372036854775808");
}

}  // namespace
}  // namespace ocannl
