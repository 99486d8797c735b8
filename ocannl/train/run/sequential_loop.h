// SPDX-License-Identifier: Apache-2.0
//
// SequentialLoop: runs something for every value of a routine's indices.
//
//   SequentialLoop(step.statics(), [&] { return step.Run(); });
#ifndef OCANNL_TRAIN_RUN_SEQUENTIAL_LOOP_H_
#define OCANNL_TRAIN_RUN_SEQUENTIAL_LOOP_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/routine.h"

namespace ocannl::train {

// Calls `f` with the static indices that have a range set to all combinations
// of their values, the last one fastest, and sets them back to what they were.
// Indices without a range keep their values. Stops at the first error of `f`.
absl::Status SequentialLoop(absl::Span<const StaticRef> statics,
                            absl::FunctionRef<absl::Status()> f);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_RUN_SEQUENTIAL_LOOP_H_
