// SPDX-License-Identifier: Apache-2.0
//
// Ranges always leave room for ticks, and grids cover their box.

#include "experiments/support/plot.h"

#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RangeOfTest, SpansTheValuesThatCanBeDrawn) {
  const ValueRange range = RangeOf({2, kNan, -3, kInfinity, 1, -kInfinity});
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 2);
  EXPECT_EQ(range.not_drawn, 3);
}

TEST(RangeOfTest, CountsValuesTooLargeForArithmetic) {
  EXPECT_EQ(RangeOf({1e301, 1, 2}).not_drawn, 1);
  EXPECT_EQ(RangeOf({-1e300, 1e300}).not_drawn, 0);
}

TEST(RangeOfTest, IsNeverEmpty) {
  EXPECT_EQ(RangeOf({}).low, 0);
  EXPECT_EQ(RangeOf({}).high, 1);
  EXPECT_EQ(RangeOf({kNan}).high, 1);
  EXPECT_EQ(RangeOf({4, 4}).low, 2);
  EXPECT_EQ(RangeOf({4, 4}).high, 6);
  EXPECT_EQ(RangeOf({0}).low, -1);
  EXPECT_EQ(RangeOf({0, 5e-324}).high, 1);
  const double next_to_1 = 1 + std::numeric_limits<double>::epsilon();
  EXPECT_DOUBLE_EQ(RangeOf({1, next_to_1}).low, 0.5);
}

TEST(BoundingBoxTest, LeavesAMargin) {
  const Box box = BoundingBox({0, 5, 10, -5});
  EXPECT_DOUBLE_EQ(box.left, -0.5);
  EXPECT_DOUBLE_EQ(box.right, 10.5);
  EXPECT_DOUBLE_EQ(box.bottom, -5.5);
  EXPECT_DOUBLE_EQ(box.top, 5.5);
}

TEST(BoundingBoxTest, IsTheUnitSquareOfNoPoints) {
  const Box box = BoundingBox({});
  EXPECT_EQ(box.left, 0);
  EXPECT_EQ(box.right, 1);
  EXPECT_EQ(box.bottom, 0);
  EXPECT_EQ(box.top, 1);
}

TEST(CellCentersTest, GoRowByRowFromTheTop) {
  const Grid grid{.box = {.left = 0, .right = 4, .bottom = -1, .top = 1},
                  .columns = 2,
                  .rows = 2};
  EXPECT_THAT(
      CellCenters(grid),
      ElementsAre(FloatEq(1), FloatEq(0.5f), FloatEq(3), FloatEq(0.5f),
                  FloatEq(1), FloatEq(-0.5f), FloatEq(3), FloatEq(-0.5f)));
}

}  // namespace
}  // namespace ocannl
