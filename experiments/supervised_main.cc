// SPDX-License-Identifier: Apache-2.0
#include "experiments/supervised_main.h"

#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/course/course.h"
#include "experiments/nets/rate_schedule.h"
#include "experiments/nets/sharded.h"
#include "experiments/support/dtype_flag.h"
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
#include "ocannl/flags/flags.h"
#include "ocannl/flags/ranks.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/parallel/data_parallel.h"
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

// The training of one run: by one routine, or by DataParallel on shards.
struct Run {
  const CommandLine& line;
  const Backend* backend;
  train::Communicator* ranks;  // null: there is one process
  SupervisedOptions options;
  Task task;
  std::unique_ptr<Supervised> supervised = nullptr;
  Device device{"host", backend};
  Stream stream{&device};
  int64_t shards = 1;
  std::unique_ptr<Sharded> sharded = nullptr;  // null: there is one shard
  std::optional<Routine> step = {};            // then
  std::optional<Routine> test = {};

  bool is_told() const { return ranks == nullptr || ranks->rank() == 0; }
  const Context& context() const { return test->context(); }

  absl::Status Make() {
    OCANNL_ASSIGN_OR_RETURN(shards, ShardsOf(line, ranks));
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
    OCANNL_ASSIGN_OR_RETURN(supervised,
                            MakeSupervised(task.lessons, task.net, options));
    if (is_told()) {
      OCANNL_RETURN_IF_ERROR(
          ExplainStep(line, supervised->model, supervised->step));
    }
    const Context context(&stream);
    if (shards == 1) {
      OCANNL_ASSIGN_OR_RETURN(SupervisedRoutines both,
                              Start(*supervised, context));
      step = std::move(both.step);
      test = std::move(both.test);
      return absl::OkStatus();
    }
    OCANNL_ASSIGN_OR_RETURN(test, StartTest(*supervised, context));
    train::DataParallelOptions parallel = {.n_shards = shards,
                                           .communicator = ranks};
    OCANNL_ASSIGN_OR_RETURN(parallel.bucket_bytes, BucketBytesOf(line));
    OCANNL_ASSIGN_OR_RETURN(sharded, MakeSharded(backend, task.lessons,
                                                 task.net, options, parallel));
    return absl::OkStatus();
  }

  absl::StatusOr<TrainingStep> LoopStep() {
    if (sharded == nullptr) {
      return StepOf(*step, supervised->model, supervised->loss);
    }
    OCANNL_ASSIGN_OR_RETURN(std::vector<Array> state,
                            sharded->training().OwnerState());
    return TrainingStep{
        .context = sharded->training().OwnerContext(),
        .state = std::move(state),
        .batches = sharded->batches(),
        .run = [this](int64_t batch,
                      int64_t number) { return sharded->Step(batch, number); },
        .ranks = ranks};
  }

  absl::Status StartEpoch(int64_t epoch) {
    if (sharded != nullptr) return sharded->StartEpoch(epoch);
    return ocannl::StartEpoch(*supervised, context(), epoch);
  }

  // What was trained so far is in context() then.
  absl::Status Collect() {
    return sharded == nullptr ? absl::OkStatus() : sharded->CopyTo(context());
  }
};

Course CourseOf(const SupervisedExperiment& experiment, const Run& run) {
  std::vector<std::string> names = {"seed", "rate", "schedule", "dtype"};
  if (experiment.examples > 0) names.emplace_back("examples");
  for (const Flag& flag : experiment.flags) names.push_back(flag.name);
  Course course{.experiment = experiment.name,
                .flags = CourseFlagsOf(run.line, names)};
  for (CourseFlag& flag : course.flags) {
    const Examples& train = run.task.lessons.train;
    // The same examples may be in another place.
    if (flag.name == "data") flag.hash = HashOf({train.inputs, train.classes});
  }
  course.flags.push_back(
      {.name = "batch_size", .value = absl::StrCat(run.options.batch_size)});
  course.flags.push_back({.name = "shards",
                          .value = absl::StrCat(run.shards),
                          .may_differ = true});
  course.flags.push_back({.name = "epochs",
                          .value = absl::StrCat(run.options.epochs),
                          .may_differ = true});
  return course;
}

absl::StatusOr<LoopOptions> LoopOf(Run& run, int64_t batches) {
  OCANNL_ASSIGN_OR_RETURN(bool verbose, run.line.GetBool("verbose"));
  const int64_t epochs = run.options.epochs;
  LoopOptions options{.loss = "loss", .end_step = epochs * batches};
  if (verbose) options.lines = epochs;
  options.before_epoch = [&](int64_t epoch) { return run.StartEpoch(epoch); };
  return options;
}

absl::Status TellResult(const SupervisedExperiment& experiment, Run& run,
                        const History& history, const Score& score) {
  OCANNL_RETURN_IF_ERROR(ExplainTraces(run.line, run.stream));
  OCANNL_RETURN_IF_ERROR(WriteFigures(run.line, FiguresOf(CurvesOf(history))));
  Measures shown;
  if (experiment.show) {
    OCANNL_ASSIGN_OR_RETURN(shown,
                            experiment.show(*run.supervised, run.context()));
  }
  OCANNL_ASSIGN_OR_RETURN(
      std::string hash,
      train::ParamsHash(run.context(), run.supervised->parameters));
  nlohmann::ordered_json result = {
      {"experiment", experiment.name},
      {"tier", std::string(run.backend->name())},
      {"seed", run.options.seed},
      {"dtype", std::string(Name(run.options.dtype))},
      {"shards", run.shards},
      {"epochs", run.options.epochs},
      {"steps", history.steps_done},
      {"first_loss", *history.loss_so_far.first},
      {"test_loss", score.loss},
      {"test_right", score.hits},
      {"ms_per_step", 1e3 * history.seconds_of_steps /
                          static_cast<double>(history.losses.size())},
      {"params_hash", hash}};
  for (const auto& [name, value] : shown) result[name] = value;
  std::cout << "RESULT " << result.dump() << std::endl;
  ReportTier(run.line, run.sharded == nullptr
                           ? run.stream
                           : run.sharded->training().OwnerContext().stream());
  return absl::OkStatus();
}

absl::Status TrainTask(const SupervisedExperiment& experiment,
                       const CommandLine& line, train::Communicator* ranks,
                       Make make) {
  OCANNL_ASSIGN_OR_RETURN(const Backend* backend, TierOf(line));
  if (ranks == nullptr || ranks->rank() == 0) {
    OCANNL_RETURN_IF_ERROR(MakePlotDirectory(line));
  }
  OCANNL_ASSIGN_OR_RETURN(SupervisedOptions options,
                          OptionsOf(line, experiment.options));
  int64_t examples = 0;
  if (experiment.examples > 0) {
    OCANNL_ASSIGN_OR_RETURN(examples, line.GetInt("examples", 1, 10'000'000));
  }
  OCANNL_ASSIGN_OR_RETURN(Task task, make(line, examples, options.seed));
  Run run{.line = line,
          .backend = backend,
          .ranks = ranks,
          .options = options,
          .task = std::move(task)};
  OCANNL_RETURN_IF_ERROR(run.Make());
  OCANNL_ASSIGN_OR_RETURN(const TrainingStep step, run.LoopStep());
  OCANNL_ASSIGN_OR_RETURN(LoopOptions loop, LoopOf(run, step.batches));
  Score score;
  auto test = [&]() -> absl::StatusOr<Measures> {
    OCANNL_RETURN_IF_ERROR(run.Collect());
    OCANNL_ASSIGN_OR_RETURN(score, TestScore(*run.test));
    std::cout << absl::StrFormat("  test: loss=%.4g, right=%.2f%%\n",
                                 score.loss, 100 * score.hits);
    return Measures{{"test_loss", score.loss}, {"accuracy", score.hits}};
  };
  OCANNL_ASSIGN_OR_RETURN(
      History history,
      TrainAndSave(line, CourseOf(experiment, run), step, loop, test));
  if (run.sharded != nullptr) {
    OCANNL_RETURN_IF_ERROR(run.sharded->training().SyncRanks());
  }
  return run.is_told() ? TellResult(experiment, run, history, score)
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
