// SPDX-License-Identifier: Apache-2.0
//
// Dependence: which statements and iterations may run in another order.
//
//   for i1 = 0 to 9 { y[i1, 0] := x[i1] + y[i1, 1]; }     parallel
//   for i1 = 0 to 8 { y[i1] := y[i1 + 1]; }               lanes, not parallel
//   for i1 = 0 to 8 { y[i1 + 1] := y[i1]; }               neither
//
// All tests are conservative: what they cannot tell apart is a dependence. Two
// cells are the same if they are on each axis, which is a linear equation over
// bounded iterators (equation.h); static indices have any value. The program is
// one that Verify accepts, but for scratch that other nests have filled.
#ifndef OCANNL_CORE_SCHEDULE_DEPENDENCE_H_
#define OCANNL_CORE_SCHEDULE_DEPENDENCE_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Whether the iterations of `loop`, a loop of the program, may run in any order
// and at once: no cell that one writes is read or written by another, and no
// local outlives its iteration. Each iteration has private buffers of its own
// if it writes what it reads of them and nothing after the loop reads more.
bool IsParallel(const LoopProgram& program, const For& loop);

// Whether the iterations of `loop`, a loop of the program, may run as lanes:
// each statement for all of them before the next one, its reads before its
// writes. False if the body is not straight-line code.
bool CanRunAsLanes(const LoopProgram& program, const For& loop);

// Whether `outer`, a loop of the program, may change places with the loop that
// is all of its body.
bool CanInterchange(const LoopProgram& program, const For& outer);

// Whether iteration i of `second` may run right after iteration i of `first`,
// the statement before it. Cells that both touch, one writing, they touch in
// the same iteration, so loops that are parallel still are when fused.
bool CanFuse(const LoopProgram& program, const For& first, const For& second);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_DEPENDENCE_H_
