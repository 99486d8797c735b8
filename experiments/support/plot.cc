// SPDX-License-Identifier: Apache-2.0
//
// Numbers that come from training may be anything: NaN, infinite, all equal, or
// none at all. They are made harmless here, so that drawing need not care.

#include "experiments/support/plot.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/check.h"

namespace ocannl {

bool IsDrawable(double value) { return std::abs(value) <= 1e300; }

ValueRange RangeOf(absl::Span<const double> values) {
  ValueRange range{.low = 1e300, .high = -1e300, .not_drawn = 0};
  for (const double value : values) {
    if (!IsDrawable(value)) {
      ++range.not_drawn;
      continue;
    }
    range.low = std::min(range.low, value);
    range.high = std::max(range.high, value);
  }
  if (range.low > range.high) {
    range.low = 0;
    range.high = 1;
  }
  // Ticks need a range that is not lost in the rounding of its own ends.
  const double size = std::max(std::abs(range.low), std::abs(range.high));
  if (range.high - range.low <= 1e-8 * size || size < 1e-300) {
    const double room = size < 1e-300 ? 1 : size / 2;
    range.low -= room;
    range.high += room;
  }
  return range;
}

// The range of every other coordinate from `first` on, and 5% around it.
static ValueRange AxisRange(absl::Span<const float> coordinates, size_t first) {
  std::vector<double> values;
  for (size_t i = first; i < coordinates.size(); i += 2) {
    values.push_back(coordinates[i]);
  }
  ValueRange range = RangeOf(values);
  const double margin = values.empty() ? 0 : 0.05 * (range.high - range.low);
  range.low -= margin;
  range.high += margin;
  return range;
}

Box BoundingBox(absl::Span<const float> coordinates) {
  CHECK_EQ(coordinates.size() % 2, 0u);
  const ValueRange x = AxisRange(coordinates, 0);
  const ValueRange y = AxisRange(coordinates, 1);
  return {.left = x.low, .right = x.high, .bottom = y.low, .top = y.high};
}

std::vector<float> CellCenters(const Grid& grid) {
  CHECK(grid.columns > 0 && grid.rows > 0);
  const Box& box = grid.box;
  const double width = (box.right - box.left) / grid.columns;
  const double height = (box.top - box.bottom) / grid.rows;
  std::vector<float> centers;
  centers.reserve(size_t{2} * grid.rows * grid.columns);
  for (int row = 0; row < grid.rows; ++row) {
    for (int column = 0; column < grid.columns; ++column) {
      centers.push_back(static_cast<float>(box.left + (column + 0.5) * width));
      centers.push_back(static_cast<float>(box.top - (row + 0.5) * height));
    }
  }
  return centers;
}

}  // namespace ocannl
