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
#include "experiments/support/metrics_log.h"
#include "experiments/support/saving.h"
#include "experiments/support/training_loop.h"
#include "nlohmann/json.hpp"
#include "ocannl/cli/explain_flag.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/tier_flags.h"
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
      {"verbose", "false", "tell of every epoch, and not of 8 at most"},
      PlotFlag(),
      ExplainFlag()};
  if (experiment.examples > 0) {
    flags.push_back(
        {"examples", absl::StrCat(experiment.examples), "to train"});
  }
  flags.insert(flags.end(), SavingFlags().begin(), SavingFlags().end());
  flags.insert(flags.end(), experiment.flags.begin(), experiment.flags.end());
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
  return options;
}

absl::StatusOr<LoopOptions> LoopOf(const CommandLine& line, int64_t epochs,
                                   const Routine& step) {
  OCANNL_ASSIGN_OR_RETURN(StaticRef batch, step.Static("batch_n"));
  OCANNL_ASSIGN_OR_RETURN(bool verbose, line.GetBool("verbose"));
  LoopOptions options{.loss = "loss", .end_step = epochs * *batch.range()};
  if (verbose) options.lines = epochs;
  return options;
}

absl::Status Run(const SupervisedExperiment& experiment,
                 const CommandLine& line, Make make) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  OCANNL_RETURN_IF_ERROR(MakePlotDirectory(line));
  OCANNL_ASSIGN_OR_RETURN(SupervisedOptions options,
                          OptionsOf(line, experiment.options));
  int64_t examples = 0;
  if (experiment.examples > 0) {
    OCANNL_ASSIGN_OR_RETURN(examples, line.GetInt("examples", 1, 10'000'000));
  }
  OCANNL_ASSIGN_OR_RETURN(Task task, make(line, examples, options.seed));
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Supervised> supervised,
                          MakeSupervised(task.lessons, task.net, options));
  OCANNL_RETURN_IF_ERROR(
      ExplainStep(line, supervised->model, supervised->step));
  Device device("host", backend);
  Stream stream(&device);
  OCANNL_ASSIGN_OR_RETURN(SupervisedRoutines run,
                          Start(*supervised, Context(&stream)));
  Score score;
  OCANNL_ASSIGN_OR_RETURN(LoopOptions loop,
                          LoopOf(line, options.epochs, run.step));
  loop.before_epoch = [&](int64_t epoch) {
    return StartEpoch(*supervised, run.step.context(), epoch);
  };
  auto test = [&]() -> absl::StatusOr<Measures> {
    OCANNL_ASSIGN_OR_RETURN(score, TestScore(run.test));
    std::cout << absl::StrFormat("  test: loss=%.4g, right=%.2f%%\n",
                                 score.loss, 100 * score.hits);
    return Measures{{"test_loss", score.loss}, {"accuracy", score.hits}};
  };
  OCANNL_ASSIGN_OR_RETURN(History history,
                          TrainAndSave(line, run.step, loop, test));
  OCANNL_RETURN_IF_ERROR(ExplainTraces(line, stream));
  OCANNL_RETURN_IF_ERROR(WriteFigures(line, FiguresOf(CurvesOf(history))));
  if (experiment.show) {
    OCANNL_RETURN_IF_ERROR(
        experiment.show(*supervised, run.step.context(), options.seed));
  }
  OCANNL_ASSIGN_OR_RETURN(
      std::string hash,
      train::ParamsHash(run.step.context(), supervised->parameters));
  nlohmann::ordered_json result = {
      {"experiment", experiment.name},
      {"tier", std::string(backend->name())},
      {"seed", options.seed},
      {"epochs", options.epochs},
      {"steps", history.losses.size()},
      {"first_loss", history.losses.front()},
      {"test_loss", score.loss},
      {"test_right", score.hits},
      {"ms_per_step", 1e3 * history.seconds_of_steps /
                          static_cast<double>(history.losses.size())},
      {"params_hash", hash}};
  std::cout << "RESULT " << result.dump() << std::endl;
  ReportTier(line, stream);
  return absl::OkStatus();
}

}  // namespace

int SupervisedMain(const SupervisedExperiment& experiment, Make make, int argc,
                   char** argv) {
  return ExperimentMain(
      experiment.name, experiment.what, FlagsOf(experiment),
      [&](const CommandLine& line) { return Run(experiment, line, make); },
      argc, argv);
}

}  // namespace ocannl
