// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/saving.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "experiments/support/metrics_log.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/checkpoint/series.h"
#include "ocannl/train/distributed/communicator.h"

namespace ocannl {
namespace {

// Of the array that tells how far training is.
constexpr char kStepsDone[] = "steps_done";

constexpr int kKept = 3;  // of --checkpoints

using Checkpoints = std::optional<train::CheckpointSeries>;

// Those of --checkpoints, if it is given.
absl::StatusOr<Checkpoints> OpenCheckpoints(const CommandLine& line) {
  const std::string directory = UserPath(line.GetString("checkpoints"));
  if (directory.empty()) return std::nullopt;
  OCANNL_ASSIGN_OR_RETURN(train::CheckpointSeries series,
                          train::CheckpointSeries::Open(directory, kKept));
  return series;
}

// When there is one, by --checkpoint_every; null: after each epoch.
absl::StatusOr<std::function<bool(int64_t steps_done)>> IntervalOf(
    const CommandLine& line, const Checkpoints& checkpoints) {
  const std::string every = line.GetString("checkpoint_every");
  if (every.empty()) return nullptr;
  if (!checkpoints) {
    return absl::InvalidArgumentError(
        absl::StrCat("--checkpoint_every=", every, " needs --checkpoints=DIR"));
  }
  absl::StatusOr<train::CheckpointInterval> interval =
      train::CheckpointInterval::Parse(every);
  if (interval.ok()) {
    return [interval = *interval](int64_t steps_done) mutable {
      return interval.IsDue(steps_done);
    };
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--checkpoint_every: ", interval.status().message()));
}

// Restores `state` from the latest of --checkpoints, else from the file of
// --load, and returns the steps that are done; 0 without either. Errors: also a
// training that is at its end.
absl::StatusOr<int64_t> StepsDone(const CommandLine& line, int64_t steps,
                                  const std::vector<Array>& state,
                                  const Checkpoints& checkpoints,
                                  const Context& context) {
  absl::string_view flag = "checkpoints";
  int64_t done = 0;
  if (checkpoints) {
    OCANNL_ASSIGN_OR_RETURN(done, checkpoints->Restore(state, context));
  }
  if (done == 0) {
    flag = "load";
    if (line.GetString(flag).empty()) return 0;
    OCANNL_RETURN_IF_ERROR(
        train::RestoreParams(UserPath(line.GetString(flag)), state, context));
    OCANNL_ASSIGN_OR_RETURN(NdArray array, context.Read(kStepsDone));
    done = array.values<int64_t>()[0];
  }
  if (done < 0 || done >= steps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--", flag, "=", line.GetString(flag), ": ", done,
        " steps are done, and ", steps, " are to be; give --epochs more than ",
        line.GetString("epochs")));
  }
  std::cout << "Goes on at step " << done << " of " << steps << ".\n";
  return done;
}

// Writes to the file of --log.
absl::StatusOr<std::function<absl::Status(const EpochMetrics&)>> LogOf(
    const CommandLine& line, int64_t first_step) {
  OCANNL_ASSIGN_OR_RETURN(
      MetricsLog opened,
      MetricsLog::Open(UserPath(line.GetString("log")), first_step));
  auto log = std::make_shared<MetricsLog>(std::move(opened));
  return [log](const EpochMetrics& metrics) { return log->Write(metrics); };
}

}  // namespace

const std::vector<Flag>& SavingFlags() {
  static const auto* flags = new std::vector<Flag>{
      {"checkpoints", "", "a directory that keeps the last 3, to go on from"},
      {"checkpoint_every", "",
       "steps, as 100, or a time, as 30s or 5m; else an epoch"},
      {"epochs_now", "0", "of this run; 0: all that are left"},
      {"load", "", "a file of --save: training goes on at its step"},
      LogFlag(),
      {"save", "", "for --load, at the end or Ctrl-C: .npz or .safetensors"}};
  return *flags;
}

absl::StatusOr<History> TrainAndSave(
    const CommandLine& line, const TrainingStep& step, LoopOptions loop,
    absl::FunctionRef<absl::StatusOr<Measures>()> after_epoch) {
  const Context& context = step.context;
  std::vector<Array> state = train::StateArrays(step.programs);
  state.push_back({.name = kStepsDone, .dtype = DType::kI64, .dims = {}});
  auto keep_steps = [&](int64_t done) {
    return context.Write(kStepsDone, NdArray::Of<int64_t>({}, {done}));
  };
  Checkpoints checkpoints;
  if (step.is_told()) {
    OCANNL_ASSIGN_OR_RETURN(checkpoints, OpenCheckpoints(line));
    OCANNL_ASSIGN_OR_RETURN(loop.checkpoint_is_due,
                            IntervalOf(line, checkpoints));
  }
  if (checkpoints) {
    loop.checkpoint = [&](int64_t steps_done) -> absl::Status {
      OCANNL_RETURN_IF_ERROR(keep_steps(steps_done));
      return checkpoints->Save(steps_done, state, context);
    };
  }
  const std::string save = UserPath(line.GetString("save"));
  std::optional<StopSignals> signals;
  if (!save.empty()) {
    if (step.is_told()) OCANNL_RETURN_IF_ERROR(train::CheckSavable(save));
    signals.emplace();
  }
  if (step.is_told()) {
    OCANNL_ASSIGN_OR_RETURN(
        loop.first_step,
        StepsDone(line, loop.end_step, state, checkpoints, context));
  }
  OCANNL_RETURN_IF_ERROR(train::BroadcastValue(step.ranks, loop.first_step));
  if (step.is_told() && line.Has("log")) {
    OCANNL_ASSIGN_OR_RETURN(loop.log, LogOf(line, loop.first_step));
  }
  const int64_t all_steps = loop.end_step;
  OCANNL_ASSIGN_OR_RETURN(int64_t now, line.GetInt("epochs_now", 0, 1'000'000));
  if (now > 0) {
    loop.end_step =
        std::min(loop.end_step, loop.first_step + now * step.batches);
  }
  OCANNL_ASSIGN_OR_RETURN(History history,
                          TrainingLoop(step, loop, after_epoch));
  if (checkpoints && history.steps_done < all_steps) {
    OCANNL_ASSIGN_OR_RETURN(const auto there, checkpoints->Steps());
    if (there.empty() || there.back() < history.steps_done) {
      OCANNL_RETURN_IF_ERROR(loop.checkpoint(history.steps_done));
    }
  }
  if (!save.empty() && step.is_told()) {
    OCANNL_RETURN_IF_ERROR(keep_steps(history.steps_done));
    OCANNL_RETURN_IF_ERROR(train::SaveParams(save, state, context));
  }
  // On all ranks, whatever their flags: those that went on would wait for them.
  if (history.stop_signal == 0) return history;
  return absl::CancelledError(absl::StrCat(
      "stopped by ", strsignal(history.stop_signal), " after ",
      history.steps_done, " steps; ", save, " has what was trained"));
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  return absl::IsCancelled(status) ? 128 + StopSignals::received() : 1;
}

}  // namespace ocannl
