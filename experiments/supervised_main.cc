// SPDX-License-Identifier: Apache-2.0
#include "experiments/supervised_main.h"

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "experiments/nets/rate_schedule.h"
#include "experiments/support/experiment_main.h"
#include "experiments/support/explain_training.h"
#include "experiments/support/figures.h"
#include "experiments/support/fit_flags.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/ranks.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/fit/fit.h"

namespace ocannl {
namespace {

std::vector<Flag> FlagsOf(const SupervisedExperiment& experiment) {
  const SupervisedOptions& options = experiment.options;
  std::vector<Flag> flags = {
      {"epochs", absl::StrCat(options.epochs),
       "how often the training sees every example"},
      {"batch_size", absl::StrCat(options.batch_size), "examples of one step"},
      {"rate", NumberText(options.rate),
       "of learning; by the schedule it falls to a tenth of it"},
      {"schedule", "linear",
       "constant, linear, cosine, step, exponential; ,warmup=100"},
      {"seed", "1", "of the examples and of the parameters' first values"},
      VerboseFlag("tell of every epoch, and not of 8 at most")};
  for (const auto& more : {FitFlags(), ocannl::FlagsOf(kShardFlags),
                           experiment.flags, experiment.other_flags}) {
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return flags;
}

// Sets what flags say of the options that FitOf reads.
absl::Status SetOptions(const CommandLine& line, int64_t shards,
                        SupervisedOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(options.batch_size,
                          line.GetInt("batch_size", 1, 1'000'000));
  if (options.batch_size % shards != 0 && !line.Has("batch_size")) {
    options.batch_size += shards - options.batch_size % shards;
    std::cout << "Batches of " << options.batch_size << ", for " << shards
              << " shards.\n";
  }
  if (!absl::SimpleAtod(line.GetString("rate"), &options.rate) ||
      !(options.rate > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--rate=", line.GetString("rate"), " is not a number above 0"));
  }
  OCANNL_ASSIGN_OR_RETURN(options.schedule,
                          ParseSchedule(line.GetString("schedule")));
  return absl::OkStatus();
}

// The options of one run: `options`, and those of other flags.
absl::StatusOr<train::FitOptions> FitOptionsOf(
    const SupervisedExperiment& experiment, const CommandLine& line,
    train::Communicator* ranks, SupervisedOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t shards, ShardsOf(line, ranks));
  if (shards > 1 && line.Has("explain")) {
    return absl::InvalidArgumentError(
        "--explain shows the step of one shard; leave --shards and "
        "--distributed out");
  }
  OCANNL_RETURN_IF_ERROR(SetOptions(line, shards, options));
  train::FitOptions fit = FitOf(options);
  OCANNL_RETURN_IF_ERROR(SetFitOptions(line, fit));
  fit.shards = shards;
  fit.communicator = ranks;
  OCANNL_ASSIGN_OR_RETURN(fit.bucket_bytes, BucketBytesOf(line));
  fit.name = experiment.name;
  std::vector<std::string> names = {"seed", "rate", "schedule", "dtype"};
  for (const Flag& flag : experiment.flags) names.push_back(flag.name);
  fit.settings = SettingsOf(line, names);
  fit.before_training = Explainer(line);
  return fit;
}

absl::Status Tell(const SupervisedExperiment& experiment,
                  const CommandLine& line, const train::FitOptions& options,
                  train::Fitted& fitted) {
  const train::FitHistory& history = fitted.history;
  OCANNL_RETURN_IF_ERROR(WriteFigures(line, FiguresOf(CurvesOf(history))));
  train::Measures shown;
  if (experiment.show) {
    OCANNL_ASSIGN_OR_RETURN(shown, experiment.show(fitted));
  }
  train::Measures measures = {{"test_loss", history.measures[0].second},
                              {"test_right", history.measures[1].second},
                              {"ms_per_step", history.us_per_step() / 1e3}};
  measures.insert(measures.end(), shown.begin(), shown.end());
  return TellResult(line, options, fitted, measures);
}

absl::Status TrainTask(const SupervisedExperiment& experiment,
                       const CommandLine& line, train::Communicator* ranks,
                       MakeTask make) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  const bool is_first = ranks == nullptr || ranks->rank() == 0;
  if (is_first) OCANNL_RETURN_IF_ERROR(MakePlotDirectory(line));
  SupervisedOptions options = experiment.options;
  OCANNL_ASSIGN_OR_RETURN(const train::FitOptions fit,
                          FitOptionsOf(experiment, line, ranks, options));
  int64_t examples = 0;
  if (experiment.examples > 0) {
    OCANNL_ASSIGN_OR_RETURN(examples, line.GetInt("examples", 1, 10'000'000));
  }
  OCANNL_ASSIGN_OR_RETURN(const Task task, make(line, examples, fit.seed));
  OCANNL_ASSIGN_OR_RETURN(
      const std::unique_ptr<train::Fitted> fitted,
      train::Fit(backend, Classifier(task.net, task.lessons.classes, fit.dtype),
                 DataOf(task.lessons, options), fit));
  return is_first ? Tell(experiment, line, fit, *fitted) : absl::OkStatus();
}

}  // namespace

int SupervisedMain(SupervisedExperiment experiment, MakeTask make, int argc,
                   char** argv) {
  if (experiment.examples > 0) {
    experiment.flags.insert(
        experiment.flags.begin(),
        {"examples", absl::StrCat(experiment.examples), "to train"});
  }
  return ExperimentMain(
      experiment.name, experiment.what, FlagsOf(experiment),
      [&](const CommandLine& line) {
        return RunRanks(line, [&](train::Communicator* ranks) {
          return TrainTask(experiment, line, ranks, make);
        });
      },
      argc, argv);
}

}  // namespace ocannl
