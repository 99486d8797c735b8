// SPDX-License-Identifier: Apache-2.0
//
// The parts of Fit (fit.h): what one device and several shards share, the loop,
// and what a run saves.
#ifndef OCANNL_TRAIN_FIT_FIT_PARTS_H_
#define OCANNL_TRAIN_FIT_FIT_PARTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/checkpoint/interval.h"
#include "ocannl/train/checkpoint/series.h"
#include "ocannl/train/distributed/communicator.h"
#include "ocannl/train/fit/course.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/model.h"

namespace ocannl::train {

// The array with the numbers of the examples of each batch.
inline constexpr absl::string_view kFitOrder = "train_order";

// The examples whose numbers are in `rows`.
std::vector<Tensor> GatherBatch(const std::vector<FitArray>& arrays,
                                Tensor rows);

// Updates states and parameters at the rate of the options. Errors: those of
// UpdateStates and ScaledRuleUpdate.
absl::StatusOr<UpdateCode> FitUpdate(Model& model, Tensor loss,
                                     const Training& training,
                                     const FitOptions& options, int64_t steps,
                                     const std::optional<LossScale>& scale);

// What a loop trains.
struct FitStep {
  Context context;  // where it leaves its loss and the array learning_rate
  // What it leaves there for the next steps and reads without changing it.
  std::vector<Array> state = {};
  std::string loss;     // an array
  int64_t batches = 1;  // of an epoch
  // Called before the first step of this run and of each epoch, from 0.
  std::function<absl::Status(int64_t epoch)> start_epoch = nullptr;
  std::function<absl::Status(int64_t batch, int64_t step)> run = nullptr;
  std::function<absl::StatusOr<Measures>()> measure = nullptr;
};

// What a run saves and logs, and goes on from, by the options.
class SavedRun {
 public:
  // Restores what is to go on. Errors: what cannot be loaded, is of another
  // network or course, is at its end, or can never be saved or logged.
  static absl::StatusOr<SavedRun> Make(const FitStep& step,
                                       const FitOptions& options, Course course,
                                       int64_t end_step);

  const FitHistory& begin() const { return begin_; }

  // After a step: saves a checkpoint where one is due by its interval, for
  // which `sync` gives the history the latest losses. After an epoch, logs it,
  // and saves a checkpoint unless that has an interval of its own.
  bool IsDue(int64_t steps_done);
  absl::Status SaveCheckpoint(const FitHistory& history) const;
  bool saves_epochs() const { return checkpoints_ && !interval_; }
  absl::Status Log(const EpochMetrics& metrics) const {
    return log_ ? log_->Write(metrics) : absl::OkStatus();
  }

  // At the end of the run, which may not be that of the training: a checkpoint,
  // and the file of `save`.
  absl::Status Finish(const FitHistory& history) const;

 private:
  SavedRun(const FitStep& step, const FitOptions& options, Course course,
           int64_t end_step)
      : step_(step),
        options_(options),
        course_(std::move(course)),
        end_step_(end_step) {}

  absl::Status Open();
  absl::StatusOr<std::string> Restore(const std::string& path);
  absl::Status GoOn();
  std::vector<Array> Arrays() const;
  absl::Status Keep(const FitHistory& history) const;

  const FitStep& step_;
  const FitOptions& options_;
  Course course_;
  int64_t end_step_;
  FitHistory begin_;
  std::optional<CheckpointSeries> checkpoints_;
  std::optional<CheckpointInterval> interval_;
  std::optional<MetricsLog> log_;
};

// Runs the steps from those of saved->begin() to `end`, or to one at which
// StopSignals (core/base/system/stop_signals.h) were received by the first
// rank; prints, measures, logs and saves on the way. `saved` is null for other
// ranks, which do as many steps as `begin` and `end` say. Sets `signal` to what
// stopped it, or 0. Errors: those of steps, callbacks and files.
struct FitLoopEnd {
  FitHistory history;
  int signal = 0;
  absl::Status log_status;  // an error stopped it: the log cannot be written
};
absl::StatusOr<FitLoopEnd> FitLoop(const FitStep& step,
                                   const FitOptions& options, SavedRun* saved,
                                   int64_t begin, int64_t end);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_FIT_FIT_PARTS_H_
