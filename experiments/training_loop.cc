// SPDX-License-Identifier: Apache-2.0
#include "experiments/training_loop.h"

#include <chrono>
#include <cstring>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "experiments/progress_bar.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/stop_signals.h"
#include "ocannl/core/runtime/recording.h"
#include "ocannl/train/sequential_loop.h"

namespace ocannl {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Error: the program shall stop, after so many steps.
absl::Status CheckStops(int64_t steps) {
  const int number = StopSignals::received();
  if (number == 0) return absl::OkStatus();
  ShowProgress("");
  return absl::CancelledError(absl::StrCat("stopped by ", strsignal(number),
                                           " after ", steps, " steps"));
}

}  // namespace

absl::StatusOr<History> TrainingLoop(
    Routine& step, const std::string& loss_name, int64_t epochs,
    absl::FunctionRef<absl::Status()> after_epoch) {
  History history;
  OCANNL_ASSIGN_OR_RETURN(StaticRef batch, step.Static("batch_n"));
  OCANNL_ASSIGN_OR_RETURN(StaticRef number, step.Static("step"));
  // Kept on the device, so that the steps of an epoch may run as one loop.
  OCANNL_ASSIGN_OR_RETURN(
      Recording losses,
      Recording::Make(step.context(), loss_name, *batch.range()));
  OCANNL_ASSIGN_OR_RETURN(
      Recording rates,
      Recording::Make(step.context(), "learning_rate", *batch.range()));
  int64_t step_number = 0;
  auto start = Clock::now();
  for (int64_t epoch = 1; epoch <= epochs; ++epoch) {
    auto epoch_start = Clock::now();
    OCANNL_RETURN_IF_ERROR(train::SequentialLoop(step.statics(), [&] {
      absl::Status status = CheckStops(step_number);
      if (status.ok()) status = number.Set(step_number++);
      if (status.ok()) status = step.Run();
      if (status.ok()) status = losses.Append();
      if (status.ok()) status = rates.Append();
      return status;
    }));
    OCANNL_ASSIGN_OR_RETURN(NdArray loss, losses.Take());
    history.seconds_of_steps += SecondsSince(epoch_start);
    OCANNL_ASSIGN_OR_RETURN(NdArray rate, rates.Take());
    double epoch_loss = 0;
    for (int64_t k = 0; k < loss.size(); ++k) {
      history.losses.push_back(loss.AsDouble(k));
      history.rates.push_back(rate.AsDouble(k));
      epoch_loss += loss.AsDouble(k);
    }
    ShowProgress("");
    std::cout << absl::StrFormat(
        "Epoch=%d, step=%d, lr=%.4g, loss=%.4g, epoch loss=%.4g\n", epoch,
        step_number - 1, history.rates.back(), history.losses.back(),
        epoch_loss);
    OCANNL_RETURN_IF_ERROR(after_epoch());
    ShowProgress(ProgressBar("epoch", epoch, epochs, 40));
    history.final_epoch_loss = epoch_loss;
  }
  ShowProgress("");
  history.seconds = SecondsSince(start);
  return history;
}

}  // namespace ocannl
