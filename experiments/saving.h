// SPDX-License-Identifier: Apache-2.0
//
// What the experiments do with --load and --save.
#ifndef EXPERIMENTS_SAVING_H_
#define EXPERIMENTS_SAVING_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "experiments/training_loop.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/runtime/routine.h"

namespace ocannl {

// --load and --save.
const std::vector<Flag>& SavingFlags();

// What `train` returns, which trains by `step` from what --load has and leaves
// what --save keeps. Where --save is given, SIGINT and SIGTERM end the training
// after the step and keep what is there: the error, a cancellation, says so.
// Errors, before the training: what cannot be loaded, or never be saved.
absl::StatusOr<History> TrainAndSave(
    const CommandLine& line, Routine& step,
    absl::FunctionRef<absl::StatusOr<History>()> train);

// The exit code of a program with such an end: as shells name the signal that
// ended the training, or 1.
int ExitCodeOf(const absl::Status& status);

}  // namespace ocannl

#endif  // EXPERIMENTS_SAVING_H_
