// SPDX-License-Identifier: Apache-2.0
//
// Ticks, and the texts around them.

#include "experiments/support/svg_axes.h"

#include <string>
#include <vector>

#include "experiments/support/plot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NiceTicksTest, TakesTheFinestStepThatFits) {
  EXPECT_THAT(NiceTicks(0, 10, 6), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(NiceTicks(0, 10, 5), ElementsAre(0, 5, 10));
  EXPECT_THAT(NiceTicks(0, 10, 11).size(), 11);
  EXPECT_THAT(NiceTicks(0, 6399, 9),
              ElementsAre(0, 1000, 2000, 3000, 4000, 5000, 6000));
  EXPECT_THAT(NiceTicks(-1.3, 2.1, 5), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(NiceTicks(0.11, 0.31, 5),
              ElementsAre(DoubleEq(0.15), DoubleEq(0.2), DoubleEq(0.25),
                          DoubleEq(0.3)));
}

TEST(NiceTicksTest, GivesAtLeastTwoOverAllMagnitudes) {
  for (double size = 1e-300; size < 1e300; size *= 7.3) {
    for (const double low : {-size, -0.3 * size, 0.0, 0.9 * size}) {
      const std::vector<double> ticks = NiceTicks(low, low + size, 5);
      ASSERT_GE(ticks.size(), 2) << low << " " << size;
      ASSERT_LE(ticks.size(), 5) << low << " " << size;
      ASSERT_GE(ticks.front(), low - 1e-9 * size);
      ASSERT_LE(ticks.back(), low + size + 1e-9 * size);
    }
  }
}

TEST(EnclosingTicksTest, ReachesBeyondTheValues) {
  EXPECT_THAT(EnclosingTicks(0, 19.45), ElementsAre(0, 5, 10, 15, 20));
  EXPECT_THAT(EnclosingTicks(-9, 2.9),
              ElementsAre(-10, -8, -6, -4, -2, 0, 2, 4));
  EXPECT_THAT(EnclosingTicks(0, 10), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_EQ(EnclosingTicks(-5e-6, -5e-7).back(), 0);
  EXPECT_EQ(EnclosingTicks(5e-7, 5e-6).front(), 0);
}

TEST(PictureTest, MapsTheBoxToThePlotArea) {
  const Box box{.left = -1, .right = 3, .bottom = 0, .top = 5};
  EXPECT_EQ(PictureX(box, -1), kPlotArea.left);
  EXPECT_EQ(PictureX(box, 3), kPlotArea.right);
  EXPECT_EQ(PictureY(box, 0), kPlotArea.bottom);
  EXPECT_EQ(PictureY(box, 5), kPlotArea.top);
}

TEST(UnitsTest, RoundsToATenth) {
  EXPECT_EQ(Units(123.456), "123.5");
  EXPECT_EQ(Units(12), "12");
  EXPECT_EQ(Units(-0.05), "-0.1");
}

TEST(TextTest, EscapesMarkup) {
  EXPECT_EQ(
      Text(1, 2.25, " fill=\"red\"", "a<b & c>d"),
      "<text x=\"1\" y=\"2.3\" fill=\"red\">a&lt;b &amp; c&gt;d</text>\n");
}

Axes MakeAxes(const std::vector<double>& y_ticks) {
  return {.box = {.left = 0,
                  .right = 1,
                  .bottom = y_ticks.front(),
                  .top = y_ticks.back()},
          .x_ticks = {0, 1},
          .y_ticks = y_ticks,
          .x_label = "time",
          .y_label = "size"};
}

TEST(DrawAxesTest, GivesAllTicksOfAnAxisTheSameDecimals) {
  const std::string svg = DrawAxes(MakeAxes({-0.05, 0, 0.05, 0.1}));
  EXPECT_THAT(svg, HasSubstr(">\u22120.05</text>"));
  EXPECT_THAT(svg, HasSubstr(">0.00</text>"));
  EXPECT_THAT(svg, HasSubstr(">0.10</text>"));
  EXPECT_THAT(svg, HasSubstr(">time</text>"));
  EXPECT_THAT(svg, HasSubstr(">size</text>"));
  EXPECT_THAT(svg, HasSubstr("font-size=\"12\""));
}

TEST(DrawAxesTest, KeepsStepsInTheirDecade) {
  const std::vector<double> ticks = {9994 * 0.1, 9995 * 0.1};
  ASSERT_LT(ticks[1] - ticks[0], 0.1);
  const std::string svg = DrawAxes(MakeAxes(ticks));
  EXPECT_THAT(svg, HasSubstr(">999.5</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">999.50</text>")));
}

TEST(DrawAxesTest, WritesExtremeNumbersInScientificNotation) {
  EXPECT_THAT(DrawAxes(MakeAxes({1e-7, 2e-7})), HasSubstr(">1e\u221207<"));
  EXPECT_THAT(DrawAxes(MakeAxes({0, 1e300})), HasSubstr(">1e+300<"));
}

TEST(DrawAxesTest, ShrinksLongNumbers) {
  const std::string svg = DrawAxes(MakeAxes({1000000000, 1000000002}));
  EXPECT_THAT(svg, HasSubstr(">1000000002</text>"));
  EXPECT_THAT(svg, HasSubstr("font-size=\"8.4\""));
}

}  // namespace
}  // namespace ocannl
