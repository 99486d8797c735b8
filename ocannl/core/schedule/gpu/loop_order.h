// SPDX-License-Identifier: Apache-2.0
//
// The order and the kinds in which the loops of a nest are planned for a GPU.
#ifndef OCANNL_CORE_SCHEDULE_GPU_LOOP_ORDER_H_
#define OCANNL_CORE_SCHEDULE_GPU_LOOP_ORDER_H_

#include <cstddef>

#include "absl/status/status.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::gpu {

// Orders the loops of statement `at` of the body: loops over results outside of
// loops that reduce. Of the former, the loop along which results are adjacent
// is innermost. In a scatter, the loop over the columns of its rows is
// outermost. Parallel loops of one iteration go, but for one. Does nothing if a
// dependence forbids it.
void PutOutputsFirst(rewrite::Rewriter& rewriter, size_t at);

// Makes `for` loops of the `par` loops of the statement: those are of another
// target. Error: that of a rewrite.
absl::Status Unschedule(rewrite::Rewriter& rewriter, size_t at);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_LOOP_ORDER_H_
