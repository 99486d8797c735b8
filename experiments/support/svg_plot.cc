// SPDX-License-Identifier: Apache-2.0
//
// Curve -> groups of values -> runs without gaps -> paths, and
// DecisionMap -> runs of cells -> one path, with circles over it.

#include "experiments/support/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "experiments/support/plot.h"
#include "experiments/support/svg_axes.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

// Groups of values that are narrower than this cannot be told apart: two units.
constexpr size_t kMaxGroups = 320;

// Blue and vermilion look different to every kind of colour vision.
constexpr absl::string_view kBlue = "#0072b2";
constexpr absl::string_view kVermilion = "#d55e00";
constexpr absl::string_view kBlueTint = "#d6e8f4";
constexpr absl::string_view kVermilionTint = "#fae3d5";

// Neighbouring values of a curve, drawn as one place of the line.
struct Group {
  double step;  // The middle one.
  double low;
  double high;
  double mean;
};

}  // namespace

// The groups of all drawable values, cut into runs where a whole group cannot
// be drawn.
static std::vector<std::vector<Group>> MakeRuns(absl::Span<const double> values,
                                                size_t group_size) {
  std::vector<std::vector<Group>> runs(1);
  for (size_t begin = 0; begin < values.size(); begin += group_size) {
    const absl::Span<const double> members = values.subspan(begin, group_size);
    Group group{.step = begin + (static_cast<double>(members.size()) - 1) / 2,
                .low = std::numeric_limits<double>::infinity(),
                .high = -std::numeric_limits<double>::infinity(),
                .mean = 0};
    double count = 0;
    for (const double value : members) {
      if (!IsDrawable(value)) continue;
      group.low = std::min(group.low, value);
      group.high = std::max(group.high, value);
      group.mean += (value - group.mean) / ++count;
    }
    if (count > 0) {
      runs.back().push_back(group);
    } else if (!runs.back().empty()) {
      runs.emplace_back();
    }
  }
  if (runs.back().empty()) runs.pop_back();
  return runs;
}

static std::string At(const Box& box, double x, double y) {
  return absl::StrCat(Units(PictureX(box, x)), " ", Units(PictureY(box, y)));
}

static std::string MeanLine(const Box& box,
                            const std::vector<std::vector<Group>>& runs) {
  std::string path;
  for (const std::vector<Group>& run : runs) {
    // The empty stroke "h0" makes a dot of a run of one.
    absl::StrAppend(&path, "M", At(box, run[0].step, run[0].mean), "h0");
    for (const Group& group : absl::MakeSpan(run).subspan(1)) {
      absl::StrAppend(&path, "L", At(box, group.step, group.mean));
    }
  }
  return absl::StrCat("<path d=\"", path, "\" fill=\"none\" stroke=\"", kBlue,
                      R"(" stroke-width="2" stroke-linejoin="round" )",
                      "stroke-linecap=\"round\"/>\n");
}

// The area between the smallest and the largest values.
static std::string RangeBand(const Box& box,
                             const std::vector<std::vector<Group>>& runs) {
  std::string path;
  for (const std::vector<Group>& run : runs) {
    absl::string_view command = "M";
    for (const Group& group : run) {
      absl::StrAppend(&path, command, At(box, group.step, group.high));
      command = "L";
    }
    for (auto group = run.rbegin(); group != run.rend(); ++group) {
      absl::StrAppend(&path, "L", At(box, group->step, group->low));
    }
    absl::StrAppend(&path, "z");
  }
  return absl::StrCat("<path d=\"", path, "\" fill=\"", kBlue,
                      "\" fill-opacity=\"0.25\"/>\n");
}

static std::string GridLines(const Axes& axes) {
  std::string path;
  for (const double tick : axes.y_ticks) {
    absl::StrAppend(&path, "M", kPlotArea.left, " ",
                    Units(PictureY(axes.box, tick)), "H", kPlotArea.right);
  }
  return absl::StrCat("<path d=\"", path, "\" stroke=\"#e4e8ec\"/>\n");
}

// There are no steps between the whole numbers.
static std::vector<double> WholeTicks(double last_step) {
  std::vector<double> ticks = NiceTicks(0, last_step, 9);
  std::erase_if(ticks, [](double tick) { return tick != std::round(tick); });
  return ticks;
}

std::string SvgLinePlot(const Curve& curve) {
  const size_t size = curve.values.size();
  const ValueRange range = RangeOf(curve.values);
  const std::vector<double> y_ticks = EnclosingTicks(range.low, range.high);
  const double last_step = std::max(1.0, static_cast<double>(size) - 1);
  const Axes axes{.box = {.left = 0,
                          .right = last_step,
                          .bottom = y_ticks.front(),
                          .top = y_ticks.back()},
                  .x_ticks = WholeTicks(last_step),
                  .y_ticks = y_ticks,
                  .x_label = curve.x_label,
                  .y_label = curve.y_label};
  const size_t group_size =
      std::max<size_t>(1, (size + kMaxGroups - 1) / kMaxGroups);
  const std::vector<std::vector<Group>> runs =
      MakeRuns(curve.values, group_size);
  std::vector<std::string> notes;
  std::string band;
  if (group_size > 1) {
    notes.push_back(absl::StrCat("line: mean of ", group_size,
                                 " values; band: their range"));
    band = RangeBand(axes.box, runs);
  }
  if (range.not_drawn > 0) {
    notes.push_back(absl::StrCat("not finite, not drawn: ", range.not_drawn));
  }
  const std::string caption =
      Text(kPlotArea.left, 46, "", absl::StrJoin(notes, "; "));
  return absl::StrCat(OpenPicture(curve.title, caption), GridLines(axes),
                      DrawAxes(axes), band, MeanLine(axes.box, runs),
                      "</svg>\n");
}

static std::string AreaRectangle(absl::string_view fill,
                                 absl::string_view stroke) {
  return absl::StrCat("<rect x=\"", kPlotArea.left, "\" y=\"", kPlotArea.top,
                      "\" width=\"", kPlotArea.right - kPlotArea.left,
                      "\" height=\"", kPlotArea.bottom - kPlotArea.top,
                      "\" fill=\"", fill, "\" stroke=\"", stroke, "\"/>\n");
}

// The cells of class 1: one path, with a rectangle for each run of a row.
static std::string PositiveCells(const DecisionMap& map) {
  const Grid& grid = map.grid;
  const double width = (kPlotArea.right - kPlotArea.left) / grid.columns;
  const double height = (kPlotArea.bottom - kPlotArea.top) / grid.rows;
  std::string path;
  for (int row = 0; row < grid.rows; ++row) {
    const auto begin =
        map.positive.begin() + static_cast<ptrdiff_t>(row) * grid.columns;
    const auto end = begin + grid.columns;
    const std::string top = Units(kPlotArea.top + row * height);
    const std::string bottom = Units(kPlotArea.top + (row + 1) * height);
    for (auto left = std::find(begin, end, true); left != end;) {
      const auto right = std::find(left, end, false);
      const double left_x = kPlotArea.left + (left - begin) * width;
      const double right_x = kPlotArea.left + (right - begin) * width;
      absl::StrAppend(&path, "M", Units(left_x), " ", top, "H", Units(right_x),
                      "V", bottom, "H", Units(left_x), "z");
      left = std::find(right, end, true);
    }
  }
  // Without crisp edges, light seams appear between the rows.
  return absl::StrCat("<path d=\"", path, "\" fill=\"", kBlueTint,
                      "\" shape-rendering=\"crispEdges\"/>\n");
}

static std::string Circle(double x, double y) {
  return absl::StrCat("<circle cx=\"", Units(x), "\" cy=\"", Units(y),
                      "\" r=\"3\"/>\n");
}

// The circles of the points whose label is `label`.
static std::string Circles(const DecisionMap& map, float label,
                           absl::string_view fill) {
  const Box& box = map.grid.box;
  std::string circles = absl::StrCat(
      "<g fill=\"", fill, R"(" stroke="#fff" stroke-width="0.6">)", "\n");
  for (size_t i = 0; i < map.labels.size(); ++i) {
    const float x = map.coordinates[2 * i];
    const float y = map.coordinates[2 * i + 1];
    const bool is_inside =
        x >= box.left && x <= box.right && y >= box.bottom && y <= box.top;
    if (map.labels[i] != label || !is_inside) continue;
    absl::StrAppend(&circles, Circle(PictureX(box, x), PictureY(box, y)));
  }
  return absl::StrCat(circles, "</g>\n");
}

static std::string Legend() {
  const double left = kPlotArea.left;
  return absl::StrCat(
      "<g fill=\"", kBlue, "\">", Circle(left + 4, 42), "</g>\n",
      Text(left + 13, 46, "", "class 1"), "<g fill=\"", kVermilion, "\">",
      Circle(left + 70, 42), "</g>\n", Text(left + 79, 46, "", "class \u22121"),
      Text(left + 144, 46, "", "background: the class that the model gives"));
}

std::string SvgBoundaryPlot(const DecisionMap& map) {
  const Grid& grid = map.grid;
  CHECK(grid.columns > 0 && grid.rows > 0);
  CHECK_EQ(map.positive.size(), size_t{1} * grid.columns * grid.rows);
  CHECK_EQ(map.coordinates.size(), 2 * map.labels.size());
  const Axes axes{.box = grid.box,
                  .x_ticks = NiceTicks(grid.box.left, grid.box.right, 9),
                  .y_ticks = NiceTicks(grid.box.bottom, grid.box.top, 7),
                  .x_label = "x",
                  .y_label = "y"};
  return absl::StrCat(
      OpenPicture(map.title, Legend()), AreaRectangle(kVermilionTint, "none"),
      PositiveCells(map), Circles(map, 1, kBlue), Circles(map, -1, kVermilion),
      AreaRectangle("none", "#8a94a0"), DrawAxes(axes), "</svg>\n");
}

}  // namespace ocannl
