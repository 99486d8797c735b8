// SPDX-License-Identifier: Apache-2.0
//
// The loop around a training step.
#ifndef EXPERIMENTS_TRAINING_LOOP_H_
#define EXPERIMENTS_TRAINING_LOOP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "ocannl/core/runtime/routine.h"

namespace ocannl {

struct History {
  std::vector<double> rates;    // one a step
  std::vector<double> losses;   // likewise
  double final_epoch_loss = 0;  // the sum
  double seconds = 0;
  double seconds_of_steps = 0;
};

// Runs `step`, whose static indices are batch_n and step, for all batches
// `epochs` times; it keeps the array `loss` and the array learning_rate. Prints
// a line after each epoch, after which it calls `after_epoch`, and shows how
// far it is. Error: a cancellation, between two steps, where StopSignals
// (core/base/system/stop_signals.h) were received.
absl::StatusOr<History> TrainingLoop(
    Routine& step, const std::string& loss, int64_t epochs,
    absl::FunctionRef<absl::Status()> after_epoch);

}  // namespace ocannl

#endif  // EXPERIMENTS_TRAINING_LOOP_H_
