// SPDX-License-Identifier: Apache-2.0
//
// The parts of Fit (fit.h): what one device and several shards share, the loop,
// and what a file has of a training.
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
#include "ocannl/train/fit/course.h"
#include "ocannl/train/fit/fit.h"
#include "ocannl/train/graph/model.h"

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

// Writes to the context of the step how far a training is, and returns the
// arrays that a file has: the state, and these. Error: that of WriteAll.
absl::StatusOr<std::vector<Array>> KeepProgress(const FitStep& step,
                                                const Course& course,
                                                const FitHistory& history);

// Restores what the file at `path` has, to the context and the history. Returns
// what is to be said of it. Errors: it is of another network, or course.
absl::StatusOr<std::string> RestoreProgress(const std::string& path,
                                            const FitStep& step,
                                            const Course& course,
                                            FitHistory& history);

// Goes on where the options say, and runs the steps to the end of the training
// or of epochs_now, or to one at which the first rank received StopSignals
// (core/base/system/stop_signals.h); prints, measures, logs and saves on the
// way. Errors: those of Fit, of what it trains.
absl::StatusOr<FitHistory> RunFit(const FitStep& step, const Course& course,
                                  const FitOptions& options);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_FIT_FIT_PARTS_H_
