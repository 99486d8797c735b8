// SPDX-License-Identifier: Apache-2.0
//
// MergeLoops: two loops that go over two axes side by side, in whatever they
// touch, become one loop over one axis. The order of the cells stays.
//
//   y : f32[8, 30, 3]; ... i1 = 0 to 29 { for i2 = 0 to 2 { y[i0, i1, i2] ...
//   y : f32[8, 90];    ... i1 = 0 to 89 { y[i0, i1] ...
//
// Done where the inner axis is the last one and does not fill vectors.
#ifndef OCANNL_CORE_SCHEDULE_MERGE_H_
#define OCANNL_CORE_SCHEDULE_MERGE_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/decisions.h"

namespace ocannl {

// Buffers keep their cells in order, but may have fewer axes.
LoopProgram MergeLoops(LoopProgram program, Decisions& taken);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_MERGE_H_
