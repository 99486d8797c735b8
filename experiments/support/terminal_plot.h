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
//   │       │0         step      6399│
//   └───────┴────────────────────────┘

#ifndef EXPERIMENTS_SUPPORT_TERMINAL_PLOT_H_
#define EXPERIMENTS_SUPPORT_TERMINAL_PLOT_H_

#include <unistd.h>

#include <string>

#include "experiments/support/plot.h"

namespace ocannl {

// Characters inside the frame: at least 24 columns and 2 rows. A plot of the
// default size fits a terminal of 80 columns and 24 rows.
struct TerminalSize {
  int columns = 64;
  int rows = 17;
};

// `size`, as much larger or smaller as the terminal that `fd` is, is than one
// of 80 columns and 24 rows, but never too small; `size` where it is none.
TerminalSize FitTerminal(TerminalSize size, int fd = STDOUT_FILENO);

// Every value as a '-' in the cell where it lies; if there are fewer values
// than columns, straight lines between them. A last line counts the values that
// cannot be drawn, if any.
std::string TerminalLinePlot(const Curve& curve, TerminalSize size);

// One character per cell of the grid: '*' or '.' for the class 1 or -1 that the
// model gives to the cell, covered by '#' or '%' for a point of class 1 or -1.
// The first line explains them.
std::string TerminalBoundaryPlot(const DecisionMap& map);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_TERMINAL_PLOT_H_
