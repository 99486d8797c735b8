// SPDX-License-Identifier: Apache-2.0
//
// Trains the half-moons network and shows what it learnt.
//
//   bazel run //experiments:moons -- --tier=interp --seed=1 --plot_dir=plots
//
// The last line of stdout is `RESULT {json}`.
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "experiments/moons_data.h"
#include "experiments/moons_model.h"
#include "experiments/support/experiment_main.h"
#include "experiments/support/explain_training.h"
#include "experiments/support/figures.h"
#include "experiments/support/fit_flags.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/fit/fit.h"

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
       "circles, spirals, or your points: .csv with lines x,y,label or .npy "
       "of shape [n, 3]; labels 1 and -1"},
      {"noise", "0.1", "of coordinates: from -3 times to 1 times so much"},
      VerboseFlag("tell of every epoch, and show all curves")};
  const std::vector<Flag> more = FitFlags();
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

absl::Status Show(const CommandLine& line, const LabelledPoints& points,
                  const train::FitOptions& options, double start,
                  train::Fitted& fitted) {
  OCANNL_ASSIGN_OR_RETURN(const NdArray scores,
                          Scores(fitted, points.coordinates));
  const train::FitHistory& history = fitted.history;
  OCANNL_RETURN_IF_ERROR(ShowBoundary(
      line, history, "Half-moons and decision boundary", points.coordinates,
      points.labels, [&](const std::vector<float>& coordinates) {
        return Scores(fitted, coordinates);
      }));
  return TellResult(line, options, fitted,
                    {{"final_epoch_loss", history.mean_loss()},
                     {"accuracy", Accuracy(scores, points.labels)},
                     {"seconds_total", train::SteadySeconds() - start},
                     {"seconds_train", history.seconds},
                     {"us_per_step", history.us_per_step()}});
}

absl::Status Run(const CommandLine& line) {
  const double start = train::SteadySeconds();
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  OCANNL_RETURN_IF_ERROR(MakePlotDirectory(line));
  MoonsOptions moons;
  OCANNL_ASSIGN_OR_RETURN(moons.batch_size,
                          line.GetInt("batch_size", 1, 1'000'000));
  OCANNL_ASSIGN_OR_RETURN(moons.hidden, line.GetIntList("hidden", 1, 65536));
  train::FitOptions options = MoonsFit(moons);
  options.lines = 3;
  OCANNL_RETURN_IF_ERROR(SetFitOptions(line, options));
  moons.dtype = options.dtype;
  OCANNL_ASSIGN_OR_RETURN(const int64_t len, line.GetInt("len", 1, 10'000'000));
  double noise;
  if (!absl::SimpleAtod(line.GetString("noise"), &noise) || !(noise >= 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--noise=", line.GetString("noise"), " is not a number of at least 0"));
  }
  const std::string data = line.GetString("data");
  OCANNL_ASSIGN_OR_RETURN(
      LabelledPoints points,
      FindPoints(data, static_cast<int>(len), options.seed, noise));
  OCANNL_ASSIGN_OR_RETURN(const int64_t dropped,
                          DropPartialBatch(moons.batch_size, points));
  if (dropped > 0) {
    std::cout << "Left out " << dropped << " points that fill no batch.\n";
  }
  options.settings = SettingsOf(
      line, {"seed", "batch_size", "hidden", "len", "noise", "dtype"});
  options.settings.push_back({"data", data, IsPointsFile(data)});
  options.before_training = Explainer(line);
  OCANNL_ASSIGN_OR_RETURN(
      const std::unique_ptr<train::Fitted> fitted,
      train::Fit(backend, MoonsNet(moons), MoonsData(points, moons.batch_size),
                 options));
  return Show(line, points, options, start, *fitted);
}

}  // namespace
}  // namespace ocannl

int main(int argc, char** argv) {
  return ocannl::ExperimentMain("moons", "Trains the half-moons network.",
                                ocannl::Flags(), ocannl::Run, argc, argv);
}
