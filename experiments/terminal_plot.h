// SPDX-License-Identifier: Apache-2.0
//
// Figures as text in a frame of box-drawing characters.
//
//   Loss:
//   ┌───────┬────────────────────────┐
//   │  19.45│-                       │
//   │l      │ -- -- -                │
//   │      0│-  -  - ----------------│
//   ├───────┼────────────────────────┤
//   │       │0                   6399│
//   │       │          step          │
//   └───────┴────────────────────────┘

#ifndef EXPERIMENTS_TERMINAL_PLOT_H_
#define EXPERIMENTS_TERMINAL_PLOT_H_

#include <string>

#include "experiments/plot.h"

namespace ocannl {

// Characters inside the frame: at least 24 columns and 2 rows.
struct TerminalSize {
  int columns = 100;
  int rows = 40;
};

// Every value as a '-' in the cell where it lies; if there are fewer values
// than columns, straight lines between them. A last line counts the values that
// cannot be drawn, if any.
std::string TerminalLinePlot(const Curve& curve, TerminalSize size);

// One character per cell of the grid: '*' or '.' for the class 1 or -1 that the
// model gives to the cell, covered by '#' or '%' for a point of class 1 or -1.
// A last line explains them.
std::string TerminalBoundaryPlot(const DecisionMap& map);

}  // namespace ocannl

#endif  // EXPERIMENTS_TERMINAL_PLOT_H_
