// SPDX-License-Identifier: Apache-2.0
//
// What there is to draw, apart from how: terminal_plot.h and svg_plot.h both
// take these figures.
//
//   Grid grid{.box = BoundingBox(coordinates), .columns = 100, .rows = 40};
//   std::vector<float> inputs = CellCenters(grid);  // Classify these.
//   DecisionMap map{.title = "Half-moons", .grid = grid,
//                   .positive = positive, .coordinates = coordinates,
//                   .labels = labels};

#ifndef EXPERIMENTS_SUPPORT_PLOT_H_
#define EXPERIMENTS_SUPPORT_PLOT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"

namespace ocannl {

// One value per step, from step 0 on.
struct Curve {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<double> values;
};

struct Box {
  double left;
  double right;
  double bottom;
  double top;
};

// `box` cut into equal cells; row 0 is at the top.
struct Grid {
  Box box;
  int columns;
  int rows;
};

// The class that a model gives to each cell, behind labelled points.
struct DecisionMap {
  std::string title;
  Grid grid;
  std::vector<bool> positive;      // [rows, columns]: the model says class 1.
  std::vector<float> coordinates;  // [points, 2]
  std::vector<float> labels;       // [points]: 1 or -1.
};

// The extent of the values that can be drawn, with low < high.
struct ValueRange {
  double low;
  double high;
  int64_t not_drawn;  // How many values are NaN or beyond +-1e300.
};

// Whether a value is a number of a size that leaves arithmetic room.
bool IsDrawable(double value);

// [0, 1] if nothing can be drawn; values that are all (nearly) equal get room
// above and below.
ValueRange RangeOf(absl::Span<const double> values);

// The points' [points, 2] extent and 5% around it; the unit square of no
// points.
Box BoundingBox(absl::Span<const float> coordinates);

// The centres x, y of all cells, row by row: [rows, columns, 2].
std::vector<float> CellCenters(const Grid& grid);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_PLOT_H_
