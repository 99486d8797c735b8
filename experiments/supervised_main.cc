// SPDX-License-Identifier: Apache-2.0
#include "experiments/supervised_main.h"

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/nets/rate_schedule.h"
#include "experiments/support/experiment_main.h"
#include "experiments/support/explain_training.h"
#include "experiments/support/figures.h"
#include "experiments/support/fit_flags.h"
#include "nlohmann/json.hpp"
#include "ocannl/cli/explain_flag.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/flags/flags.h"
#include "ocannl/flags/ranks.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/params_hash.h"

namespace ocannl {
namespace {

using Make = absl::FunctionRef<absl::StatusOr<Task>(
    const CommandLine&, int64_t examples, uint32_t seed)>;

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
      DTypeFlag(),
      {"verbose", "false", "tell of every epoch, and not of 8 at most"},
      PlotFlag(),
      FlagNamed("explain")};
  if (experiment.examples > 0) {
    flags.push_back(
        {"examples", absl::StrCat(experiment.examples), "to train"});
  }
  flags.insert(flags.end(), SavingFlags().begin(), SavingFlags().end());
  for (const Flag& flag : ocannl::FlagsOf(kShardFlags)) flags.push_back(flag);
  for (const auto* own : {&experiment.flags, &experiment.other_flags}) {
    flags.insert(flags.end(), own->begin(), own->end());
  }
  return flags;
}

absl::StatusOr<SupervisedOptions> OptionsOf(const CommandLine& line,
                                            SupervisedOptions options) {
  OCANNL_ASSIGN_OR_RETURN(options.epochs, line.GetInt("epochs", 1, 1'000'000));
  OCANNL_ASSIGN_OR_RETURN(options.batch_size,
                          line.GetInt("batch_size", 1, 1'000'000));
  if (!absl::SimpleAtod(line.GetString("rate"), &options.rate) ||
      !(options.rate > 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--rate=", line.GetString("rate"), " is not a number above 0"));
  }
  OCANNL_ASSIGN_OR_RETURN(options.schedule,
                          ParseSchedule(line.GetString("schedule")));
  OCANNL_ASSIGN_OR_RETURN(options.seed, line.GetInt("seed", 0, 0xfffffffe));
  OCANNL_ASSIGN_OR_RETURN(options.dtype, DTypeOf(line));
  return options;
}

// The options of one run: those of the flags, of which the shards decide what
// is left open.
absl::StatusOr<train::FitOptions> FitOptionsOf(
    const SupervisedExperiment& experiment, const CommandLine& line,
    train::Communicator* ranks, SupervisedOptions& options) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t shards, ShardsOf(line, ranks));
  if (shards > 1 && line.Has("explain")) {
    return absl::InvalidArgumentError(
        "--explain shows the step of one shard; leave --shards and "
        "--distributed out");
  }
  if (options.batch_size % shards != 0 && !line.Has("batch_size")) {
    options.batch_size += shards - options.batch_size % shards;
    std::cout << "Batches of " << options.batch_size << ", for " << shards
              << " shards.\n";
  }
  train::FitOptions fit = FitOf(options);
  OCANNL_RETURN_IF_ERROR(SetFitOptions(line, fit));
  fit.shards = shards;
  fit.communicator = ranks;
  OCANNL_ASSIGN_OR_RETURN(fit.bucket_bytes, BucketBytesOf(line));
  fit.name = experiment.name;
  std::vector<std::string> names = {"seed", "rate", "schedule", "dtype"};
  if (experiment.examples > 0) names.emplace_back("examples");
  for (const Flag& flag : experiment.flags) names.push_back(flag.name);
  fit.settings = SettingsOf(line, names);
  for (train::FitSetting& setting : fit.settings) {
    setting.is_data = setting.name == "data";
  }
  fit.settings.push_back(
      {.name = "batch_size", .value = absl::StrCat(options.batch_size)});
  fit.settings.push_back(
      {.name = "shards", .value = absl::StrCat(shards), .may_differ = true});
  fit.before_training = Explainer(line);
  fit.after_epoch = [](const train::EpochMetrics& epoch) {
    if (epoch.measures.empty()) return absl::OkStatus();
    std::cout << absl::StrFormat("  test: loss=%.4g, right=%.2f%%\n",
                                 epoch.measures[0].second,
                                 100 * epoch.measures[1].second);
    return absl::OkStatus();
  };
  return fit;
}

absl::Status TellResult(const SupervisedExperiment& experiment,
                        const CommandLine& line,
                        const train::FitOptions& options,
                        train::Fitted& fitted) {
  const train::FitHistory& history = fitted.history;
  OCANNL_RETURN_IF_ERROR(ExplainTraces(line, fitted.stream));
  OCANNL_RETURN_IF_ERROR(WriteFigures(line, FiguresOf(CurvesOf(history))));
  train::Measures shown;
  if (experiment.show) {
    OCANNL_ASSIGN_OR_RETURN(shown, experiment.show(fitted));
  }
  OCANNL_ASSIGN_OR_RETURN(
      const std::string hash,
      train::ParamsHash(*fitted.context, fitted.code->parameters));
  nlohmann::ordered_json result = {
      {"experiment", experiment.name},
      {"tier", std::string(fitted.device.backend().name())},
      {"seed", options.seed},
      {"dtype", std::string(Name(options.dtype))},
      {"shards", options.shards},
      {"epochs", options.epochs},
      {"steps", history.steps_done},
      {"first_loss", *history.first_loss},
      {"test_loss", history.measures[0].second},
      {"test_right", history.measures[1].second},
      {"ms_per_step",
       1e3 * history.step_seconds / static_cast<double>(history.losses.size())},
      {"params_hash", hash}};
  for (const auto& [name, value] : shown) result[name] = value;
  std::cout << "RESULT " << result.dump() << std::endl;
  ReportTier(line, fitted.step_stream());
  return absl::OkStatus();
}

absl::Status TrainTask(const SupervisedExperiment& experiment,
                       const CommandLine& line, train::Communicator* ranks,
                       Make make) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  const bool is_first = ranks == nullptr || ranks->rank() == 0;
  if (is_first) OCANNL_RETURN_IF_ERROR(MakePlotDirectory(line));
  OCANNL_ASSIGN_OR_RETURN(SupervisedOptions options,
                          OptionsOf(line, experiment.options));
  int64_t examples = 0;
  if (experiment.examples > 0) {
    OCANNL_ASSIGN_OR_RETURN(examples, line.GetInt("examples", 1, 10'000'000));
  }
  OCANNL_ASSIGN_OR_RETURN(const Task task, make(line, examples, options.seed));
  OCANNL_ASSIGN_OR_RETURN(const train::FitOptions fit,
                          FitOptionsOf(experiment, line, ranks, options));
  OCANNL_ASSIGN_OR_RETURN(
      const std::unique_ptr<train::Fitted> fitted,
      train::Fit(backend,
                 Classifier(task.net, task.lessons.classes, options.dtype),
                 DataOf(task.lessons, options), fit));
  return is_first ? TellResult(experiment, line, fit, *fitted)
                  : absl::OkStatus();
}

}  // namespace

int SupervisedMain(const SupervisedExperiment& experiment, Make make, int argc,
                   char** argv) {
  return ExperimentMain(
      experiment.name, experiment.what, FlagsOf(experiment),
      [&](const CommandLine& line) {
        return RunRanks(line, [&](train::Communicator* ranks) {
          return TrainTask(experiment, line, ranks, make);
        });
      },
      argc, argv);
}

Flag DataLimitFlag() {
  return {"data_limit", "0",
          "MiB that --data may decompress to; 0: by its size"};
}

absl::StatusOr<train::DataLimit> DataLimitOf(const CommandLine& line) {
  OCANNL_ASSIGN_OR_RETURN(const int64_t mib,
                          line.GetInt("data_limit", 0, int64_t{1} << 20));
  return train::DataLimit{.mib = mib};
}

}  // namespace ocannl
