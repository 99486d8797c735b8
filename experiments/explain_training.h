// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a training step, as files for the curious.
#ifndef EXPERIMENTS_EXPLAIN_TRAINING_H_
#define EXPERIMENTS_EXPLAIN_TRAINING_H_

#include <string>

#include "absl/status/status.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/train/model.h"

namespace ocannl {

// Writes every stage of `step`, of that model, to the directory, and says so.
absl::Status ExplainStep(const train::Model& model, const Assignments& step,
                         const std::string& directory);

// The same for the loops that steps ran in, compiled across routines.
absl::Status ExplainTraces(const Stream& stream, const std::string& directory);

}  // namespace ocannl

#endif  // EXPERIMENTS_EXPLAIN_TRAINING_H_
