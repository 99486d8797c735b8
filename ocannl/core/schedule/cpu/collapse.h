// SPDX-License-Identifier: Apache-2.0
//
// CollapseLoops: two perfectly nested loops that run over two adjacent axes of
// all buffers they access become one loop over one axis (collapse in OpenMP).
// The layout in memory stays.
//
//   y : f32[8, 30, 3]; ... i1 = 0 to 29 { for i2 = 0 to 2 { y[i0, i1, i2] ...
//   y : f32[8, 90];    ... i1 = 0 to 89 { y[i0, i1] ...
//
// Done where the inner axis is the last one and would waste lanes, or is
// shorter than the cells whose random blocks registers compute at once. Which
// loops, is decided here; the rewrite is Rewriter::CollapsePairs.
#ifndef OCANNL_CORE_SCHEDULE_CPU_COLLAPSE_H_
#define OCANNL_CORE_SCHEDULE_CPU_COLLAPSE_H_

#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl {

// Whether it did. Buffers keep their layout, but may have fewer axes. The
// script, if there is one, gets the rewrites. Error: that of a rewrite.
absl::StatusOr<bool> CollapseLoops(LoopProgram& program,
                                   rewrite::Script* script);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_COLLAPSE_H_
