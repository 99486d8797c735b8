// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/figures.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "experiments/support/fit_flags.h"
#include "experiments/support/png.h"
#include "experiments/support/svg_plot.h"
#include "experiments/support/terminal_plot.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {
namespace {

// Two pixels for a unit of the SVG picture.
constexpr int kWidth = 1440, kHeight = 880;

std::string DirectoryOf(const CommandLine& line) {
  return UserPath(line.GetString("plot_dir"));
}

}  // namespace

Flag PlotFlag() {
  return {"plot_dir", "", "where to write the figures, as SVG and PNG"};
}

absl::Status MakePlotDirectory(const CommandLine& line) {
  const std::string directory = DirectoryOf(line);
  return directory.empty() ? absl::OkStatus() : MakeDirectory(directory);
}

std::vector<NamedCurve> CurvesOf(const train::FitHistory& history) {
  std::vector<double> logs;
  for (double loss : history.losses) {
    logs.push_back(std::max(std::log(loss), -10.0));
  }
  return {{"learning_rate",
           {"Learning rate", "step", "learning rate", history.rates}},
          {"loss", {"Loss", "step", "loss", history.losses}},
          {"log_loss",
           {"Log-loss, for better visibility", "step", "log loss", logs}}};
}

std::vector<Figure> FiguresOf(const std::vector<NamedCurve>& curves) {
  std::vector<Figure> figures;
  for (const auto& [name, curve] : curves) {
    figures.push_back({name, SvgLinePlot(curve)});
  }
  return figures;
}

absl::Status WriteFigures(const CommandLine& line,
                          const std::vector<Figure>& figures) {
  const std::string directory = DirectoryOf(line);
  if (directory.empty()) return absl::OkStatus();
  absl::Status without_png;
  for (const auto& [name, svg] : figures) {
    OCANNL_RETURN_IF_ERROR(WriteFileIn(directory, name + ".svg", svg));
    const absl::StatusOr<std::string> png = PngOf(svg, kWidth, kHeight);
    if (absl::IsUnavailable(png.status())) {
      without_png = png.status();
      continue;
    }
    OCANNL_RETURN_IF_ERROR(png.status());
    OCANNL_RETURN_IF_ERROR(WriteFileIn(directory, name + ".png", *png));
  }
  const auto name = [](std::string* out, const Figure& figure) {
    absl::StrAppend(out, figure.name);
  };
  std::cout << absl::StrJoin(figures, ", ", name) << " are in\n"
            << directory << ", as .svg"
            << (without_png.ok() ? " and .png\n" : "\n");
  if (!without_png.ok()) {
    std::cout << "There is no .png: " << without_png.message() << "\n";
  }
  return absl::OkStatus();
}

absl::Status ShowBoundary(
    const CommandLine& line, const train::FitHistory& history,
    const std::string& title, const std::vector<float>& coordinates,
    const std::vector<float>& labels,
    absl::FunctionRef<absl::StatusOr<NdArray>(const std::vector<float>&)>
        score) {
  OCANNL_ASSIGN_OR_RETURN(const int verbosity, VerbosityOf(line));
  const bool verbose = verbosity > 0;
  const std::vector<NamedCurve> curves = CurvesOf(history);
  if (verbose) {
    for (const auto& [name, curve] : curves) {
      std::cout << TerminalLinePlot(curve, FitTerminal({}));
    }
  }
  auto map_of = [&](int columns, int rows) -> absl::StatusOr<DecisionMap> {
    DecisionMap map{.title = title,
                    .grid = {.box = BoundingBox(coordinates),
                             .columns = columns,
                             .rows = rows},
                    .positive = {},
                    .coordinates = coordinates,
                    .labels = labels};
    OCANNL_ASSIGN_OR_RETURN(const NdArray scores, score(CellCenters(map.grid)));
    for (int64_t k = 0; k < scores.size(); ++k) {
      map.positive.push_back(scores.AsDouble(k) > 0);
    }
    return map;
  };
  // One screen holds it, some lines before it and the result.
  const TerminalSize size = FitTerminal({.columns = 64, .rows = 9});
  OCANNL_ASSIGN_OR_RETURN(const DecisionMap coarse,
                          map_of(size.columns, size.rows));
  std::cout << TerminalBoundaryPlot(coarse);
  if (!line.Has("plot_dir")) {
    if (!verbose) {
      std::cout << "The curves: --verbose shows them, --plot_dir=DIR writes "
                   "all figures.\n";
    }
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(const DecisionMap fine, map_of(312, 160));
  std::vector<Figure> figures = FiguresOf(curves);
  figures.push_back({"boundary", SvgBoundaryPlot(fine)});
  return WriteFigures(line, figures);
}

}  // namespace ocannl
