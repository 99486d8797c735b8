// SPDX-License-Identifier: Apache-2.0
//
// Figures as self-contained SVG pictures.
//
//   std::string picture = SvgLinePlot(loss);

#ifndef EXPERIMENTS_SUPPORT_SVG_PLOT_H_
#define EXPERIMENTS_SUPPORT_SVG_PLOT_H_

#include <string>

#include "experiments/support/plot.h"

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

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_SVG_PLOT_H_
