// SPDX-License-Identifier: Apache-2.0
//
// Whole plots against their expected text.

#include "experiments/support/terminal_plot.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "experiments/support/plot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr TerminalSize kSmall{.columns = 24, .rows = 5};

Curve MakeCurve(const std::vector<double>& values) {
  return {
      .title = "Loss", .x_label = "step", .y_label = "λoss", .values = values};
}

TEST(TerminalLinePlotTest, MarksEveryValue) {
  std::vector<double> values(47);
  for (size_t i = 0; i < values.size(); ++i) values[i] = i < 23 ? 2 : 0.5;
  values[46] = -1.25;
  EXPECT_EQ(TerminalLinePlot(MakeCurve(values), kSmall),
            R"(Loss:
┌───────┬────────────────────────┐
│λ     2│------------            │
│o      │                        │
│s      │            ------------│
│s      │                        │
│  -1.25│                       -│
├───────┼────────────────────────┤
│       │0         step        46│
└───────┴────────────────────────┘
)");
}

TEST(TerminalLinePlotTest, JoinsFewValues) {
  EXPECT_EQ(TerminalLinePlot(MakeCurve({0, 4}), kSmall),
            R"(Loss:
┌───┬────────────────────────┐
│λ 4│                     ---│
│o  │               ------   │
│s  │         ------         │
│s  │   ------               │
│  0│---                     │
├───┼────────────────────────┤
│   │0         step         1│
└───┴────────────────────────┘
)");
}

TEST(TerminalLinePlotTest, LeavesGapsAndCountsThem) {
  const std::string plot =
      TerminalLinePlot(MakeCurve({1, kNan, 2, kNan, 3}), kSmall);
  EXPECT_THAT(plot, HasSubstr("│λ 3│                       -│\n"));
  EXPECT_THAT(plot, HasSubstr("│s  │            -           │\n"));
  EXPECT_THAT(plot, HasSubstr("│  1│-                       │\n"));
  EXPECT_TRUE(
      absl::EndsWith(plot, "\nNot drawn: 2 values that are not finite.\n"));
}

TEST(TerminalLinePlotTest, DrawsAFrameAroundNothing) {
  const std::string plot = TerminalLinePlot(MakeCurve({}), kSmall);
  EXPECT_THAT(plot, Not(HasSubstr("-")));
  EXPECT_THAT(plot, HasSubstr("│0         step         0│\n"));
}

TEST(TerminalLinePlotTest, CutsLongLabels) {
  Curve curve = MakeCurve({1, 2});
  curve.x_label = "0123456789012345678901234567";
  curve.y_label = "learning";
  const std::string plot = TerminalLinePlot(curve, kSmall);
  EXPECT_THAT(plot, HasSubstr("│012345678901234567890121│\n"));
  EXPECT_THAT(plot, HasSubstr("│n 1│"));
}

// The cells of a line of UTF-8.
int Cells(const std::string& line) {
  return static_cast<int>(
      absl::c_count_if(line, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

TEST(TerminalLinePlotTest, FitsATerminalByDefault) {
  const std::vector<std::string> lines = absl::StrSplit(
      TerminalLinePlot(MakeCurve({-1.2345e-100, 1.2345e-100}), {}), '\n');
  ASSERT_EQ(lines.size(), 1 + 1 + 17 + 3 + 1);
  EXPECT_THAT(lines[18], HasSubstr("│--" + std::string(62, ' ') + "│"));
  for (const std::string& line : lines) EXPECT_LE(Cells(line), 80) << line;
}

TEST(FitTerminalTest, GrowsAndShrinksWithIt) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) {
    GTEST_SKIP() << "this system gives no pseudo-terminal";
  }
  const auto fit = [&](uint16_t columns, uint16_t rows) {
    struct winsize window = {};
    window.ws_col = columns;
    window.ws_row = rows;
    CHECK_EQ(ioctl(terminal, TIOCSWINSZ, &window), 0);
    const TerminalSize size = FitTerminal({.columns = 64, .rows = 9}, terminal);
    return std::pair(size.columns, size.rows);
  };
  EXPECT_EQ(fit(80, 24), std::pair(64, 9));
  EXPECT_EQ(fit(133, 50), std::pair(117, 35));
  EXPECT_EQ(fit(20, 5), std::pair(24, 2));
  EXPECT_EQ(fit(0, 0), std::pair(64, 9));  // it does not know
  close(terminal);
  const int file = open("/dev/null", O_RDWR);
  EXPECT_EQ(FitTerminal({.columns = 64, .rows = 9}, file).columns, 64);
  close(file);
}

DecisionMap MakeMap() {
  DecisionMap map{
      .title = "Moons",
      .grid = {.box = {.left = 0, .right = 24, .bottom = 0, .top = 3},
               .columns = 24,
               .rows = 3},
      .positive = std::vector<bool>(24 * 3),
      .coordinates = {0.5, 2.5, 24, 0, 3, 2, 25, 1, 12, -0.1},
      .labels = {1, -1, -1, 1, 1}};
  for (int cell = 0; cell < 24 + 6; ++cell) map.positive[cell] = true;
  return map;
}

TEST(TerminalBoundaryPlotTest, DrawsCellsAndPointsOverThem) {
  EXPECT_EQ(TerminalBoundaryPlot(MakeMap()),
            R"(Moons (points: # 1, % -1; model: * 1, . -1):
┌───┬────────────────────────┐
│  3│#***********************│
│y  │***%**..................│
│  0│.......................%│
├───┼────────────────────────┤
│   │0          x          24│
└───┴────────────────────────┘
)");
}

TEST(TerminalBoundaryPlotDeathTest, ChecksSizes) {
  DecisionMap map = MakeMap();
  map.positive.pop_back();
  EXPECT_DEATH(TerminalBoundaryPlot(map), "positive");
  EXPECT_DEATH(TerminalLinePlot(MakeCurve({}), {.columns = 10, .rows = 5}),
               "10 x 5 leaves no room");
}

}  // namespace
}  // namespace ocannl
