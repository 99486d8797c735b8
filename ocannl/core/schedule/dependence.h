// SPDX-License-Identifier: Apache-2.0
//
// Dependence: which statements may run in another order.
//
//   for i1 = 0 to 9 { y[i1, 0] := x[i1] + y[i1, 1]; }    iterations independent
//   for i1 = 0 to 8 { y[i1 + 1] := y[i1]; }              not
//
// The tests are conservative: they compare intervals, axis by axis and for the
// whole offset, and call what they cannot tell apart a dependence.
#ifndef OCANNL_CORE_SCHEDULE_DEPENDENCE_H_
#define OCANNL_CORE_SCHEDULE_DEPENDENCE_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Whether the iterations of `loop`, a loop of the program, may run in any order
// and at once: no cell that one writes is read or written by another, and no
// local outlives its iteration. Private buffers belong to an iteration.
bool IsParallel(const LoopProgram& program, const For& loop);

// Whether the iterations of `loop` may run as lanes: each statement for all of
// them before the next one. The body must be straight-line code.
bool CanRunAsLanes(const LoopProgram& program, const For& loop);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_DEPENDENCE_H_
