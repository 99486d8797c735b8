// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a training step, as files for the curious: --explain.
#ifndef EXPERIMENTS_SUPPORT_EXPLAIN_TRAINING_H_
#define EXPERIMENTS_SUPPORT_EXPLAIN_TRAINING_H_

#include <functional>

#include "absl/status/status.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/train/graph/model.h"

namespace ocannl {

// FitOptions::before_training: writes every stage of the step to the directory
// of --explain, and says so; null where that is not given. `line` must outlive
// it.
std::function<absl::Status(const train::Model& model, const Assignments& step)>
Explainer(const CommandLine& line);

// The same for the loops that steps ran in, compiled across routines.
absl::Status ExplainTraces(const CommandLine& line, const Stream& stream);

}  // namespace ocannl

#endif  // EXPERIMENTS_SUPPORT_EXPLAIN_TRAINING_H_
