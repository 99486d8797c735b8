// SPDX-License-Identifier: Apache-2.0
//
// What the experiments do with --load and --save, and with --log.
#ifndef EXPERIMENTS_SUPPORT_SAVING_H_
#define EXPERIMENTS_SUPPORT_SAVING_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "experiments/course/course.h"
#include "experiments/support/training_loop.h"
#include "ocannl/core/base/command_line.h"

namespace ocannl {

// --load, --save, --epochs_now, --checkpoints with its own and the interval
// between them; --log.
const std::vector<Flag>& SavingFlags();

// TrainingLoop, from the step at which the training stopped that --load has,
// for --epochs_now; leaves in the file of --save what it takes to go on. With
// --checkpoints, goes on at the latest one there that is whole, if there is
// one, whatever --load is, and adds to them. Where one of the two is given,
// StopSignals (core/base/system/stop_signals.h) end the training after the step
// and keep what is there: the error, a cancellation, says so. So does a log
// that cannot be written. Errors, before the training: what cannot be loaded,
// is of another network or course, is at its end, or can never be saved or
// logged. Of several ranks, the first one loads, saves and logs.
absl::StatusOr<History> TrainAndSave(
    const CommandLine& line, const Course& course, const TrainingStep& step,
    LoopOptions loop,
    absl::FunctionRef<absl::StatusOr<Measures>()> after_epoch);

// The exit code of a program with such an end: as shells name the signal that
// ended the training, else that of ExitCodeOfError.
int ExitCodeOf(const absl::Status& status);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_SAVING_H_
