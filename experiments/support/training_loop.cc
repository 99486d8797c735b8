// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/training_loop.h"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/support/progress_bar.h"
#include "experiments/support/seconds_since.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/core/runtime/recording.h"
#include "ocannl/train/checkpoint/checkpoint.h"

namespace ocannl {
namespace {

void AddSteps(const NdArray& loss, const NdArray& rate, History& history) {
  std::optional<double>& first = history.loss_so_far.first;
  if (!first) first = loss.AsDouble(0);
  for (int64_t k = 0; k < loss.size(); ++k) {
    history.losses.push_back(loss.AsDouble(k));
    history.rates.push_back(rate.AsDouble(k));
    history.loss_so_far.epoch_sum += loss.AsDouble(k);
    ++history.loss_so_far.epoch_steps;
  }
}

double MeanLoss(const LossSoFar& so_far) {
  return so_far.epoch_sum / static_cast<double>(so_far.epoch_steps);
}

// The signal that rank 0 got; 0: none.
absl::StatusOr<int> StopSignal(train::Communicator* ranks) {
  int signal = StopSignals::received();
  OCANNL_RETURN_IF_ERROR(train::BroadcastValue(ranks, signal));
  return signal;
}

// The losses and rates of an epoch, kept on the device, so that its steps may
// run as one loop.
struct Curves {
  static absl::StatusOr<Curves> Make(const TrainingStep& step,
                                     const std::string& loss) {
    OCANNL_ASSIGN_OR_RETURN(Recording losses,
                            Recording::Make(step.context, loss, step.batches));
    OCANNL_ASSIGN_OR_RETURN(
        Recording rates,
        Recording::Make(step.context, "learning_rate", step.batches));
    return Curves{std::move(losses), std::move(rates)};
  }
  absl::Status Append() {
    ++count;
    OCANNL_RETURN_IF_ERROR(losses.Append());
    return rates.Append();
  }
  // Moves what was appended, by steps since `start`, to the history.
  absl::Status MoveTo(Clock::time_point start, History& history) {
    if (std::exchange(count, 0) == 0) return absl::OkStatus();
    OCANNL_ASSIGN_OR_RETURN(NdArray loss, losses.Take());
    history.seconds_of_steps += SecondsSince(start);
    OCANNL_ASSIGN_OR_RETURN(NdArray rate, rates.Take());
    AddSteps(loss, rate, history);
    return absl::OkStatus();
  }

  Recording losses, rates;
  int64_t count = 0;
};

// Runs steps from history.steps_done to `end`, or to one at which there were
// StopSignals; saves where it is due. With `curves`, adds them to the history.
absl::Status RunSteps(const TrainingStep& step, const LoopOptions& options,
                      int64_t end, std::optional<Curves>& curves,
                      History& history) {
  auto start = Clock::now();
  int64_t& next = history.steps_done;
  do {  // once at least, so that there are losses to take
    OCANNL_RETURN_IF_ERROR(step.run(next % step.batches, next));
    if (curves) OCANNL_RETURN_IF_ERROR(curves->Append());
    ++next;
    if (options.checkpoint_is_due && next < options.end_step &&
        options.checkpoint_is_due(next)) {
      if (curves) OCANNL_RETURN_IF_ERROR(curves->MoveTo(start, history));
      OCANNL_RETURN_IF_ERROR(options.checkpoint(history));
      start = Clock::now();
    }
    OCANNL_ASSIGN_OR_RETURN(history.stop_signal, StopSignal(step.ranks));
  } while (next < end && history.stop_signal == 0);
  return curves ? curves->MoveTo(start, history) : absl::OkStatus();
}

void PrintEpoch(int64_t epoch, const History& history) {
  std::cout << absl::StrFormat("Epoch=%d, step=%d, lr=%.4g, mean loss=%.4g\n",
                               epoch, history.steps_done, history.rates.back(),
                               MeanLoss(history.loss_so_far))
            << std::flush;
}

}  // namespace

absl::StatusOr<TrainingStep> StepOf(Routine& step, train::Model& model,
                                    Tensor loss) {
  OCANNL_ASSIGN_OR_RETURN(std::vector<Array> state,
                          train::StateArrays(model, loss, {&step.program()}));
  OCANNL_ASSIGN_OR_RETURN(StaticRef batch, step.Static("batch_n"));
  std::optional<StaticRef> number;  // where something depends on it
  if (auto found = step.Static("step"); found.ok()) number = *found;
  const int64_t batches = *batch.range();
  auto run = [&step, batch, number](int64_t k, int64_t n) mutable {
    OCANNL_RETURN_IF_ERROR(batch.Set(k));
    if (number) OCANNL_RETURN_IF_ERROR(number->Set(n));
    return step.Run();
  };
  return TrainingStep{.context = step.context(),
                      .state = std::move(state),
                      .batches = batches,
                      .run = std::move(run)};
}

absl::StatusOr<History> TrainingLoop(
    const TrainingStep& step, const LoopOptions& options,
    absl::FunctionRef<absl::StatusOr<Measures>()> after_epoch) {
  CHECK(options.first_step < options.end_step && options.lines > 0);
  History history;
  const int64_t batches = step.batches;
  std::optional<Curves> curves;
  if (step.is_told()) {
    OCANNL_ASSIGN_OR_RETURN(curves, Curves::Make(step, options.loss));
  }
  const int64_t last_epoch = (options.end_step - 1) / batches + 1;
  const int64_t epochs = last_epoch - options.first_step / batches;
  const int64_t told = (epochs + options.lines - 1) / options.lines;
  auto start = Clock::now();
  int64_t& next = history.steps_done;
  next = options.first_step;
  history.loss_so_far = options.loss_so_far.value_or(LossSoFar());
  while (next < options.end_step && history.stop_signal == 0) {
    const int64_t epoch = next / batches + 1;
    if (next % batches == 0) {
      history.loss_so_far = {.first = history.loss_so_far.first};
    }
    if (options.before_epoch) {
      OCANNL_RETURN_IF_ERROR(options.before_epoch(epoch - 1));
    }
    const int64_t end = std::min(epoch * batches, options.end_step);
    OCANNL_RETURN_IF_ERROR(RunSteps(step, options, end, curves, history));
    if (!curves) continue;
    Measures measures;
    if (next == end && (last_epoch - epoch) % told == 0) {
      ShowProgress("");
      PrintEpoch(epoch, history);
      OCANNL_ASSIGN_OR_RETURN(measures, after_epoch());
    }
    if (options.log) {
      history.log_status = options.log({.epoch = epoch,
                                        .step = next,
                                        .loss = MeanLoss(history.loss_so_far),
                                        .rate = history.rates.back(),
                                        .seconds = SecondsSince(start),
                                        .of_test = std::move(measures)});
      if (!history.log_status.ok()) {  // of SIGXFSZ, perhaps
        if (!step.ranks) history.stop_signal = StopSignals::received();
        break;
      }
    }
    ShowProgress(absl::StrCat(
        ProgressBar("epoch", epoch, last_epoch, 30), " ",
        TimeLeft(epoch - last_epoch + epochs, epochs, SecondsSince(start))));
    if (options.checkpoint && !options.checkpoint_is_due && next == end &&
        next < options.end_step) {
      OCANNL_RETURN_IF_ERROR(options.checkpoint(history));
    }
  }
  ShowProgress("");
  history.seconds = SecondsSince(start);
  return history;
}

}  // namespace ocannl
