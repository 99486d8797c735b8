// SPDX-License-Identifier: Apache-2.0
//
// The figures of an experiment as files: --plot_dir.
#ifndef EXPERIMENTS_SUPPORT_FIGURES_H_
#define EXPERIMENTS_SUPPORT_FIGURES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "experiments/support/plot.h"
#include "experiments/support/training_loop.h"
#include "ocannl/core/base/command_line.h"

namespace ocannl {

Flag PlotFlag();

// To be called before the training: makes the directory, if the flag is given.
// Error: the system's.
absl::Status MakePlotDirectory(const CommandLine& line);

struct NamedCurve {
  std::string name;  // of the file
  Curve curve;
};

// learning_rate, loss and log_loss, by step.
std::vector<NamedCurve> CurvesOf(const History& history);

struct Figure {
  std::string name;
  std::string svg;
};
std::vector<Figure> FiguresOf(const std::vector<NamedCurve>& curves);

// Writes NAME.svg and NAME.png of each to the directory, if the flag is given,
// and says so; where the library for PNG is not there, says that.
absl::Status WriteFigures(const CommandLine& line,
                          const std::vector<Figure>& figures);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_FIGURES_H_
