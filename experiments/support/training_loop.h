// SPDX-License-Identifier: Apache-2.0
//
// The loop around a training step.
#ifndef EXPERIMENTS_SUPPORT_TRAINING_LOOP_H_
#define EXPERIMENTS_SUPPORT_TRAINING_LOOP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/support/metrics_log.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/model.h"

namespace ocannl {

// Of the steps that are done, those of runs before this one too.
struct LossSoFar {
  std::optional<double> first = {};  // of the first step of all
  double epoch_sum = 0;              // of the epoch that the last step is in
  int64_t epoch_steps = 0;           // how many losses are in the sum
};

struct History {
  std::vector<double> rates;   // one a step of this run
  std::vector<double> losses;  // likewise
  LossSoFar loss_so_far;
  int64_t steps_done = 0;   // those before the first one, too
  int stop_signal = 0;      // that stopped it; 0: none
  absl::Status log_status;  // an error stopped it: the log cannot be written
  double seconds = 0;
  double seconds_of_steps = 0;
};

// What a loop trains.
struct TrainingStep {
  Context context;  // where it leaves its loss and the array learning_rate
  // What it leaves there for the next steps and reads without changing it.
  std::vector<Array> state = {};
  int64_t batches = 1;  // of an epoch
  std::function<absl::Status(int64_t batch, int64_t step)> run = nullptr;
  // Of several processes, of which rank 0 has the loss and the rate; the others
  // do as many steps. Null: there is one.
  train::Communicator* ranks = nullptr;

  bool is_told() const { return ranks == nullptr || ranks->rank() == 0; }
};

// Of a routine that trains the model's `loss`, with the static indices batch_n
// and, where something depends on it, step, which must outlive it. Errors: it
// has others; those of StateArrays (train/checkpoint/checkpoint.h).
absl::StatusOr<TrainingStep> StepOf(Routine& step, train::Model& model,
                                    Tensor loss);

struct LoopOptions {
  std::string loss;        // an array that the step keeps
  int64_t first_step = 0;  // as many steps are done before it
  // Of the steps before it; none: they are not known.
  std::optional<LossSoFar> loss_so_far = std::nullopt;
  int64_t end_step = 0;  // one after the last
  int64_t lines = 8;     // most epochs that are told of
  // Called before the first step of this run and of each epoch, from 0.
  std::function<absl::Status(int64_t epoch)> before_epoch = nullptr;
  // Called after each epoch, or where `checkpoint_is_due`, which is asked after
  // each step; not after the last.
  std::function<absl::Status(const History&)> checkpoint = nullptr;
  std::function<bool(int64_t steps_done)> checkpoint_is_due = nullptr;
  // Called after each epoch, and where the training ends within one.
  std::function<absl::Status(const EpochMetrics&)> log = nullptr;
};

// Runs `step` for all batches again and again. Of some epochs, the last one
// among them, prints a line and calls `after_epoch`, which may print more and
// returns what it measured; shows how far it is; ranks but the first do not.
// Ends after the step at which StopSignals
// (core/base/system/stop_signals.h) were received, by rank 0. Needs
// first_step < end_step.
absl::StatusOr<History> TrainingLoop(
    const TrainingStep& step, const LoopOptions& options,
    absl::FunctionRef<absl::StatusOr<Measures>()> after_epoch);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_TRAINING_LOOP_H_
