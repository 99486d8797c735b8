// SPDX-License-Identifier: Apache-2.0
//
// Pictures are well-formed, small, and show the data where they are.

#include "experiments/support/svg_plot.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "experiments/support/plot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

int Count(absl::string_view text, absl::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != absl::string_view::npos;
       at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Every tag is closed in order and every attribute is quoted; no number is NaN.
void ExpectWellFormed(absl::string_view svg) {
  std::vector<std::string> open;
  size_t at = 0;
  while ((at = svg.find('<', at)) != absl::string_view::npos) {
    const size_t end = svg.find('>', at);
    ASSERT_NE(end, absl::string_view::npos);
    const absl::string_view tag = svg.substr(at + 1, end - at - 1);
    const std::string name(tag.substr(0, tag.find(' ')));
    if (tag[0] == '/') {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(name, absl::StrCat("/", open.back()));
      open.pop_back();
    } else if (!absl::EndsWith(tag, "/")) {
      open.push_back(name);
    }
    EXPECT_EQ(Count(tag, "=\""), Count(tag, "="));
    EXPECT_EQ(Count(tag, "\""), 2 * Count(tag, "="));
    EXPECT_THAT(std::string(tag), Not(HasSubstr("nan")));
    EXPECT_THAT(std::string(tag), Not(HasSubstr("inf")));
    at = end;
  }
  EXPECT_TRUE(open.empty());
  EXPECT_TRUE(absl::EndsWith(svg, "</svg>\n"));
}

Curve MakeCurve(const std::vector<double>& values) {
  return {.title = "Loss < 1 & falling",
          .x_label = "step",
          .y_label = "loss",
          .values = values};
}

TEST(SvgLinePlotTest, DrawsEachOfFewValues) {
  const std::string svg = SvgLinePlot(MakeCurve({0, 10, 5}));
  ExpectWellFormed(svg);
  EXPECT_THAT(svg, HasSubstr("M84 380h0L390 60L696 220\""));
  EXPECT_THAT(svg, HasSubstr(">Loss &lt; 1 &amp; falling<"));
  EXPECT_THAT(svg, HasSubstr(">1</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">0.5</text>")));  // There is no such step.
  EXPECT_THAT(svg, Not(HasSubstr("mean")));
}

TEST(SvgLinePlotTest, LeavesGapsAndCountsThem) {
  const std::string svg =
      SvgLinePlot(MakeCurve({kNan, 0, 5, kInfinity, kNan, 10, kNan}));
  ExpectWellFormed(svg);
  EXPECT_THAT(svg, HasSubstr("M186 380h0L288 220M594 60h0\""));
  EXPECT_THAT(svg, HasSubstr("not finite, not drawn: 4"));
}

TEST(SvgLinePlotTest, StaysSmallAndKeepsTheExtremes) {
  std::vector<double> values(6400, 4.0);
  for (size_t i = 0; i < values.size(); i += 2) values[i] = 2;
  values[3333] = 10;
  values[4444] = 0;
  const std::string svg = SvgLinePlot(MakeCurve(values));
  ExpectWellFormed(svg);
  EXPECT_LT(svg.size(), 20000);
  EXPECT_THAT(svg, HasSubstr("line: mean of 20 values; band: their range"));
  // Step 3333 is in the group around 3329.5, at 84 + 612 * 3329.5 / 6399.
  EXPECT_THAT(svg, HasSubstr("L402.4 60L"));
  EXPECT_THAT(svg, HasSubstr("L509.5 380L"));
  // The mean 3 is at 380 - 320 * 0.3.
  EXPECT_GT(Count(svg, " 284L"), 300);
}

TEST(SvgLinePlotTest, GroupsSkipWhatCannotBeDrawn) {
  std::vector<double> values(6400, 1.0);
  values[0] = 0;
  values[10] = kNan;
  for (int i = 3200; i < 3220; ++i) values[i] = kNan;
  const std::string svg = SvgLinePlot(MakeCurve(values));
  ExpectWellFormed(svg);
  EXPECT_THAT(svg, HasSubstr("; not finite, not drawn: 21"));
  EXPECT_EQ(Count(svg, "h0"), 2);  // The line in two pieces.
}

TEST(SvgLinePlotTest, DrawsAnythingWellFormed) {
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {}, {1}, {0, 0}, {kNan}, {1e-300, 2e-300}, {-1e300, 1e300}}) {
    ExpectWellFormed(SvgLinePlot(MakeCurve(values)));
  }
  ExpectWellFormed(SvgLinePlot(MakeCurve(std::vector<double>(6400, kNan))));
}

DecisionMap MakeMap() {
  return {.title = "Moons",
          .grid = {.box = {.left = 0, .right = 4, .bottom = 0, .top = 2},
                   .columns = 4,
                   .rows = 2},
          .positive = {true, false, true, true, false, false, false, true},
          .coordinates = {1, 1, 4, 0, 2, 3, 0, 2},
          .labels = {1, -1, -1, 1}};
}

TEST(SvgBoundaryPlotTest, DrawsRunsOfCellsAndPoints) {
  const std::string svg = SvgBoundaryPlot(MakeMap());
  ExpectWellFormed(svg);
  EXPECT_THAT(svg, HasSubstr("\"M84 60H237V220H84z"
                             "M390 60H696V220H390z"
                             "M543 220H696V380H543z\""));
  const size_t vermilion = svg.find("<g fill=\"#d55e00\" stroke");
  EXPECT_LT(svg.find("<circle cx=\"237\" cy=\"220\""), vermilion);
  EXPECT_LT(svg.find("<circle cx=\"84\" cy=\"60\""), vermilion);
  EXPECT_GT(svg.find("<circle cx=\"696\" cy=\"380\""), vermilion);
  EXPECT_EQ(Count(svg, "<circle"), 2 + 3);  // Legend, and points in the box.
}

TEST(SvgBoundaryPlotTest, StaysSmall) {
  DecisionMap map = MakeMap();
  map.grid.columns = 312;
  map.grid.rows = 160;
  map.positive.assign(312 * 160, false);
  for (int i = 0; i < 312 * 160; ++i) map.positive[i] = i % 312 < i / 312;
  map.labels.assign(800, 1);
  map.coordinates.assign(1600, 1.5);
  const std::string svg = SvgBoundaryPlot(map);
  ExpectWellFormed(svg);
  EXPECT_LT(svg.size(), 50000);
}

TEST(SvgBoundaryPlotDeathTest, ChecksSizes) {
  DecisionMap map = MakeMap();
  map.labels.pop_back();
  EXPECT_DEATH(SvgBoundaryPlot(map), "labels");
}

}  // namespace
}  // namespace ocannl
