// SPDX-License-Identifier: Apache-2.0
//
// A plot is first rows of one-byte cells, then framed. Only the frame and the
// labels have characters of several bytes.

#include "experiments/support/terminal_plot.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/support/plot.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

constexpr TerminalSize kLeast = {.columns = 24, .rows = 2};

// The inside of a plot, one byte per cell, and what is written around it.
struct Frame {
  std::vector<std::string> rows;
  std::string x_low;
  std::string x_high;
  std::string x_label;
  std::string y_low;
  std::string y_high;
  std::string y_label;
};

}  // namespace

// A label as `width` one-character cells: centred, and cut if it is longer.
// The characters are those of UTF-8, whose later bytes start with bits 10.
static std::vector<std::string> Centered(absl::string_view label, int width) {
  std::vector<std::string> characters;
  for (const char byte : label) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
    if (!continues || characters.empty()) characters.emplace_back();
    characters.back() += byte;
  }
  const int room = std::max(0, width - static_cast<int>(characters.size()));
  characters.insert(characters.begin(), room / 2, " ");
  characters.resize(width, " ");
  return characters;
}

static std::string Rule(absl::string_view left, int gutter,
                        absl::string_view middle, int width,
                        absl::string_view right) {
  std::string rule(left);
  for (int i = 0; i < gutter; ++i) absl::StrAppend(&rule, "─");
  absl::StrAppend(&rule, middle);
  for (int i = 0; i < width; ++i) absl::StrAppend(&rule, "─");
  return absl::StrCat(rule, right, "\n");
}

static std::string Draw(const Frame& frame) {
  const int height = static_cast<int>(frame.rows.size());
  const int width = static_cast<int>(frame.rows[0].size());
  const int gutter =
      static_cast<int>(2 + std::max(frame.y_low.size(), frame.y_high.size()));
  const std::vector<std::string> y_label = Centered(frame.y_label, height);

  std::string text = Rule("┌", gutter, "┬", width, "┐");
  for (int row = 0; row < height; ++row) {
    const std::string tick = row == 0            ? frame.y_high
                             : row + 1 == height ? frame.y_low
                                                 : "";
    absl::StrAppend(&text, "│", y_label[row],
                    absl::StrFormat("%*s", gutter - 1, tick), "│",
                    frame.rows[row], "│\n");
  }
  std::vector<std::string> x_axis = Centered(frame.x_label, width);
  for (size_t k = 0; k < frame.x_low.size(); ++k) x_axis[k] = frame.x_low[k];
  for (size_t k = 0; k < frame.x_high.size(); ++k) {
    x_axis[width - frame.x_high.size() + k] = frame.x_high[k];
  }
  absl::StrAppend(&text, Rule("├", gutter, "┼", width, "┤"), "│",
                  std::string(gutter, ' '), "│", absl::StrJoin(x_axis, ""),
                  "│\n", Rule("└", gutter, "┴", width, "┘"));
  return text;
}

static std::vector<std::string> EmptyRows(TerminalSize size, char fill) {
  CHECK(size.columns >= kLeast.columns && size.rows >= kLeast.rows)
      << size.columns << " x " << size.rows << " leaves no room for ticks";
  return std::vector<std::string>(size.rows, std::string(size.columns, fill));
}

static std::string Number(double value) {
  return absl::StrFormat("%.4g", value);
}

// The value at `position` steps, on the straight line between two steps.
static double Interpolate(absl::Span<const double> values, double position) {
  const size_t step = static_cast<size_t>(position);
  const double fraction = position - static_cast<double>(step);
  if (fraction == 0) return values[step];
  return values[step] * (1 - fraction) + values[step + 1] * fraction;
}

TerminalSize FitTerminal(TerminalSize size, int fd) {
  struct winsize window = {};
  if (ioctl(fd, TIOCGWINSZ, &window) != 0 || window.ws_col == 0 ||
      window.ws_row == 0) {
    return size;
  }
  return {
      .columns = std::max(size.columns + window.ws_col - 80, kLeast.columns),
      .rows = std::max(size.rows + window.ws_row - 24, kLeast.rows)};
}

std::string TerminalLinePlot(const Curve& curve, TerminalSize size) {
  std::vector<std::string> rows = EmptyRows(size, ' ');
  const int value_count = static_cast<int>(curve.values.size());
  const int last_step = std::max(value_count - 1, 0);
  const double columns_per_step = (size.columns - 1.0) / std::max(last_step, 1);
  const ValueRange range = RangeOf(curve.values);
  const auto mark = [&](double step, double value) {
    if (!IsDrawable(value)) return;
    const double depth = (range.high - value) / (range.high - range.low);
    rows[std::lround(depth * (size.rows - 1))]
        [std::lround(step * columns_per_step)] = '-';
  };
  for (int i = 0; i < value_count; ++i) mark(i, curve.values[i]);
  if (value_count > 1 && value_count < size.columns) {
    for (int column = 0; column < size.columns; ++column) {
      const double step = column / columns_per_step;
      mark(step, Interpolate(curve.values, std::min<double>(step, last_step)));
    }
  }
  std::string text = Draw({.rows = rows,
                           .x_low = "0",
                           .x_high = absl::StrCat(last_step),
                           .x_label = curve.x_label,
                           .y_low = Number(range.low),
                           .y_high = Number(range.high),
                           .y_label = curve.y_label});
  if (range.not_drawn > 0) {
    absl::StrAppend(&text, "Not drawn: ", range.not_drawn,
                    " values that are not finite.\n");
  }
  return absl::StrCat(curve.title, ":\n", text);
}

std::string TerminalBoundaryPlot(const DecisionMap& map) {
  const auto& [box, columns, row_count] = map.grid;
  CHECK_EQ(map.positive.size(), size_t{1} * columns * row_count);
  CHECK_EQ(map.coordinates.size(), 2 * map.labels.size());
  std::vector<std::string> rows =
      EmptyRows({.columns = columns, .rows = row_count}, '.');
  for (size_t cell = 0; cell < map.positive.size(); ++cell) {
    if (map.positive[cell]) rows[cell / columns][cell % columns] = '*';
  }
  for (size_t i = 0; i < map.labels.size(); ++i) {
    const double x =
        (map.coordinates[2 * i] - box.left) / (box.right - box.left);
    const double y =
        (box.top - map.coordinates[2 * i + 1]) / (box.top - box.bottom);
    if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1)) continue;
    const int column = std::min(static_cast<int>(x * columns), columns - 1);
    const int row = std::min(static_cast<int>(y * row_count), row_count - 1);
    rows[row][column] = map.labels[i] > 0 ? '#' : '%';
  }
  return absl::StrCat(map.title, " (points: # 1, % -1; model: * 1, . -1):\n",
                      Draw({.rows = rows,
                            .x_low = Number(box.left),
                            .x_high = Number(box.right),
                            .x_label = "x",
                            .y_low = Number(box.bottom),
                            .y_high = Number(box.top),
                            .y_label = "y"}));
}

}  // namespace ocannl
