// SPDX-License-Identifier: Apache-2.0
//
// Figures as self-contained SVG pictures.
//
//   OCANNL_RETURN_IF_ERROR(WriteFile("loss.svg", SvgLinePlot(loss)));

#ifndef EXPERIMENTS_SVG_PLOT_H_
#define EXPERIMENTS_SVG_PLOT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "experiments/plot.h"

namespace ocannl {

// A line through the values. So that many values stay a small picture, they are
// taken in groups: the line goes through their means, within a band of their
// ranges. Where a whole group cannot be drawn is a gap. The caption tells the
// size of the groups and how many values are not drawn.
std::string SvgLinePlot(const Curve& curve);

// The cells of the grid tinted with the class that the model gives them, and
// the points as circles in the colour of their own class. Points outside of the
// grid are left out.
std::string SvgBoundaryPlot(const DecisionMap& map);

// Replaces the file. Errors name the path and the system's reason.
absl::Status WriteFile(const std::string& path, absl::string_view contents);

}  // namespace ocannl

#endif  // EXPERIMENTS_SVG_PLOT_H_
