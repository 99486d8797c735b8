// SPDX-License-Identifier: Apache-2.0
//
// The order and the kinds in which the loops of a nest are planned for a GPU.
#ifndef OCANNL_CORE_SCHEDULE_GPU_LOOP_ORDER_H_
#define OCANNL_CORE_SCHEDULE_GPU_LOOP_ORDER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "ocannl/core/schedule/rewrite/script.h"

namespace ocannl::gpu {

// Of the statement `at` of the body, which is a loop: loops over results around
// those that reduce, and of the former that one innermost along which results
// stand side by side; of a scatter, the loop over the columns of its rows
// outermost. Does nothing where a dependence forbids it.
void PutOutputsFirst(rewrite::ScriptRunner& script, size_t at);

// Makes `for` loops of the `par` loops of the statement: those are of another
// target. Error: that of a rewrite.
absl::Status Unschedule(rewrite::ScriptRunner& script, size_t at);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_LOOP_ORDER_H_
