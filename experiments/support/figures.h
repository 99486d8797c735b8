// SPDX-License-Identifier: Apache-2.0
//
// The figures of an experiment as files: --plot_dir.
#ifndef EXPERIMENTS_SUPPORT_FIGURES_H_
#define EXPERIMENTS_SUPPORT_FIGURES_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/support/plot.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/train/fit/fit.h"

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
std::vector<NamedCurve> CurvesOf(const train::FitHistory& history);

struct Figure {
  std::string name;
  std::string svg;
};
std::vector<Figure> FiguresOf(const std::vector<NamedCurve>& curves);

// Writes NAME.svg and NAME.png of each to the directory, if the flag is given,
// and says so; where the library for PNG is not there, says that.
absl::Status WriteFigures(const CommandLine& line,
                          const std::vector<Figure>& figures);

// Shows which class the sign of `score` gives to each place among the labelled
// points, and the curves with --verbose; writes all to --plot_dir.
absl::Status ShowBoundary(
    const CommandLine& line, const train::FitHistory& history,
    const std::string& title, const std::vector<float>& coordinates,
    const std::vector<float>& labels,
    absl::FunctionRef<absl::StatusOr<NdArray>(const std::vector<float>&)>
        score);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_FIGURES_H_
