// SPDX-License-Identifier: Apache-2.0
//
// Trains the half-moons network and shows what it learnt.
//
//   bazel run //experiments:moons -- --tier=interp --seed=1 --plot_dir=plots
//
// Prints a line for some epochs and the decision boundary, with --verbose also
// the curves; the last line of stdout is `RESULT {json}`.
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/course/course.h"
#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "experiments/support/dtype_flag.h"
#include "experiments/support/experiment_main.h"
#include "experiments/support/explain_training.h"
#include "experiments/support/figures.h"
#include "experiments/support/metrics_log.h"
#include "experiments/support/plot.h"
#include "experiments/support/saving.h"
#include "experiments/support/seconds_since.h"
#include "experiments/support/svg_plot.h"
#include "experiments/support/terminal_plot.h"
#include "experiments/support/training_loop.h"
#include "nlohmann/json.hpp"
#include "ocannl/cli/explain_flag.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/runtime/npy.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/params_hash.h"

namespace ocannl {
namespace {

std::vector<Flag> Flags() {
  std::vector<Flag> flags = {
      {"epochs", "80",
       "how often all points are seen, at rates from 0.2 to 0.1"},
      {"batch_size", "10", "points of one step"},
      {"hidden", "16,16", "sizes of the hidden layers"},
      {"len", "400", "points of each moon"},
      {"seed", "1", "of the points and of the parameters' first values"},
      {"data", "",
       "circles, spirals, or a file of your points: .csv with lines x,y,label "
       "or .npy of shape [n, 3]; labels are 1 and -1"},
      DTypeFlag(),
      PlotFlag(),
      {"verbose", "false", "tell of every epoch, and show all curves"},
      FlagNamed("explain")};
  flags.insert(flags.end(), SavingFlags().begin(), SavingFlags().end());
  return flags;
}

bool IsFile(absl::string_view data) {
  return !data.empty() && data != "circles" && data != "spirals";
}

absl::StatusOr<LabelledPoints> GetPoints(const CommandLine& line,
                                         uint32_t seed) {
  std::string path = line.GetString("data");
  if (!IsFile(path)) {
    OCANNL_ASSIGN_OR_RETURN(int64_t len, line.GetInt("len", 1, 10'000'000));
    const auto count = static_cast<int>(len);
    if (path.empty()) return HalfMoons(count, seed);
    return path == "circles" ? Circles(count, seed) : Spirals(count, seed);
  }
  path = UserPath(path);
  if (!absl::EndsWith(path, ".npy")) return LoadPoints(path);
  OCANNL_ASSIGN_OR_RETURN(NdArray array, ReadNpy(path));
  if (array.dims().size() != 2 || array.dims()[1] != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data: ", path,
                     " must have shape [n, 3]: x, y and a label of 1 or "
                     "-1 in each row"));
  }
  std::vector<float> rows;
  for (int64_t k = 0; k < array.size(); ++k) {
    rows.push_back(static_cast<float>(array.AsDouble(k)));
  }
  return PointsFromRows(rows, path);
}

Course CourseOf(const CommandLine& line, const LabelledPoints& points) {
  Course course{.experiment = "moons",
                .flags = CourseFlagsOf(
                    line, {"seed", "batch_size", "hidden", "len", "dtype"})};
  CourseFlag data{.name = "data", .value = line.GetString("data")};
  // The same points may be in another place.
  if (IsFile(data.value)) {
    const auto size = static_cast<int64_t>(points.labels.size());
    data.hash = HashOf({NdArray::Of<float>({size, 2}, points.coordinates),
                        NdArray::Of<float>({size}, points.labels)});
  }
  course.flags.push_back(std::move(data));
  course.flags.push_back({.name = "epochs",
                          .value = line.GetString("epochs"),
                          .may_differ = true});
  return course;
}

absl::StatusOr<LabelledPoints> WholeBatches(const CommandLine& line,
                                            const MoonsOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(LabelledPoints points, GetPoints(line, options.seed));
  OCANNL_ASSIGN_OR_RETURN(int64_t dropped,
                          DropPartialBatch(options.batch_size, points));
  if (dropped > 0) {
    std::cout << "Left out " << dropped << " points that fill no batch.\n";
  }
  return points;
}

// The score of each point: the sign is the class.
absl::StatusOr<NdArray> Scores(MoonsModel& moons, const MoonsOptions& options,
                               const Context& context,
                               const std::vector<float>& coordinates,
                               const std::string& name) {
  OCANNL_ASSIGN_OR_RETURN(Assignments code,
                          ScorePoints(moons, options, coordinates, name));
  OCANNL_ASSIGN_OR_RETURN(Routine routine, ToRoutine(context, code, {}));
  OCANNL_RETURN_IF_ERROR(routine.Run());
  return context.Read(name);
}

double Accuracy(const NdArray& scores, const std::vector<float>& labels) {
  int64_t right = 0;
  for (int64_t k = 0; k < scores.size(); ++k) {
    right += (scores.AsDouble(k) > 0) == (labels[k] > 0);
  }
  return static_cast<double>(right) / static_cast<double>(labels.size());
}

absl::StatusOr<DecisionMap> Boundary(MoonsModel& moons,
                                     const MoonsOptions& options,
                                     const Context& context,
                                     const LabelledPoints& points, int columns,
                                     int rows) {
  DecisionMap map{.title = "Half-moons and decision boundary",
                  .grid = {.box = BoundingBox(points.coordinates),
                           .columns = columns,
                           .rows = rows},
                  .positive = {},
                  .coordinates = points.coordinates,
                  .labels = points.labels};
  OCANNL_ASSIGN_OR_RETURN(NdArray scores,
                          Scores(moons, options, context, CellCenters(map.grid),
                                 absl::StrCat("cells_", columns)));
  for (int64_t k = 0; k < scores.size(); ++k) {
    map.positive.push_back(scores.AsDouble(k) > 0);
  }
  return map;
}

absl::Status ShowFigures(const CommandLine& line, MoonsModel& moons,
                         const MoonsOptions& options, const Context& context,
                         const LabelledPoints& points, const History& history) {
  OCANNL_ASSIGN_OR_RETURN(bool verbose, line.GetBool("verbose"));
  const std::vector<NamedCurve> curves = CurvesOf(history);
  if (verbose) {
    for (const auto& [name, curve] : curves) {
      std::cout << TerminalLinePlot(curve, FitTerminal({}));
    }
  }
  // One screen holds it, some lines before it and the result.
  const TerminalSize size = FitTerminal({.columns = 64, .rows = 9});
  OCANNL_ASSIGN_OR_RETURN(
      DecisionMap coarse,
      Boundary(moons, options, context, points, size.columns, size.rows));
  std::cout << TerminalBoundaryPlot(coarse);
  if (!line.Has("plot_dir")) {
    if (!verbose) {
      std::cout << "The curves: --verbose shows them, --plot_dir=DIR writes "
                   "all figures.\n";
    }
    return absl::OkStatus();
  }
  OCANNL_ASSIGN_OR_RETURN(DecisionMap fine,
                          Boundary(moons, options, context, points, 312, 160));
  std::vector<Figure> figures = FiguresOf(curves);
  figures.push_back({"boundary", SvgBoundaryPlot(fine)});
  return WriteFigures(line, figures);
}

absl::Status Run(const CommandLine& line) {
  auto start = Clock::now();
  MoonsOptions options;
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  OCANNL_RETURN_IF_ERROR(MakePlotDirectory(line));
  OCANNL_ASSIGN_OR_RETURN(options.epochs, line.GetInt("epochs", 1, 1'000'000));
  OCANNL_ASSIGN_OR_RETURN(options.batch_size,
                          line.GetInt("batch_size", 1, 1'000'000));
  OCANNL_ASSIGN_OR_RETURN(options.hidden, line.GetIntList("hidden", 1, 65536));
  OCANNL_ASSIGN_OR_RETURN(options.seed, line.GetInt("seed", 0, 0xfffffffe));
  OCANNL_ASSIGN_OR_RETURN(options.dtype, DTypeOf(line));
  OCANNL_ASSIGN_OR_RETURN(LabelledPoints points, WholeBatches(line, options));
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<MoonsModel> moons,
                          MakeMoons(points, options));
  OCANNL_RETURN_IF_ERROR(ExplainStep(line, moons->model, moons->step));
  Device device("host", backend);
  Stream stream(&device);
  Context context(&stream);
  OCANNL_ASSIGN_OR_RETURN(Routine init, ToRoutine(context, moons->init, {}));
  OCANNL_RETURN_IF_ERROR(init.Run());
  OCANNL_ASSIGN_OR_RETURN(Routine step,
                          ToRoutine(init.context(), moons->step, {}));
  OCANNL_ASSIGN_OR_RETURN(bool verbose, line.GetBool("verbose"));
  LoopOptions loop{.loss = "scalar_loss",
                   .end_step = moons->steps,
                   .lines = verbose ? options.epochs : 3};
  OCANNL_ASSIGN_OR_RETURN(const TrainingStep trained,
                          StepOf(step, moons->model, moons->loss));
  OCANNL_ASSIGN_OR_RETURN(
      History history, TrainAndSave(line, CourseOf(line, points), trained, loop,
                                    [] { return Measures(); }));
  OCANNL_RETURN_IF_ERROR(ExplainTraces(line, stream));
  OCANNL_ASSIGN_OR_RETURN(
      NdArray scores,
      Scores(*moons, options, step.context(), points.coordinates, "scores"));
  OCANNL_RETURN_IF_ERROR(
      ShowFigures(line, *moons, options, step.context(), points, history));
  OCANNL_ASSIGN_OR_RETURN(std::string hash,
                          train::ParamsHash(step.context(), moons->parameters));
  nlohmann::ordered_json result = {
      {"experiment", "moons"},
      {"tier", std::string(backend->name())},
      {"seed", options.seed},
      {"dtype", std::string(Name(options.dtype))},
      {"epochs", options.epochs},
      {"steps", history.steps_done},
      {"first_loss", *history.loss_so_far.first},
      {"final_epoch_loss", history.loss_so_far.epoch_sum},
      {"accuracy", Accuracy(scores, points.labels)},
      {"seconds_total", SecondsSince(start)},
      {"seconds_train", history.seconds},
      {"us_per_step",
       1e6 * history.seconds_of_steps / static_cast<double>(step.runs())},
      {"params_hash", hash}};
  std::cout << "RESULT " << result.dump() << std::endl;
  ReportTier(line, stream);
  return absl::OkStatus();
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ExperimentMain("moons", "Trains the half-moons network.",
                                ocannl::Flags(), ocannl::Run, argc, argv);
}
