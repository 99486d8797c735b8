// SPDX-License-Identifier: Apache-2.0
//
// Schedule: LoopProgram -> LoopProgram with tiles, lanes, copies and parallel
// loops, for one processor; the same bits.
//
//   Schedule(program, kAvx512Target)
//
// Loops over adjacent axes are collapsed (collapse.h). Nests of loops around
// one assignment are scheduled with the pointwise nests that use their result:
// contractions are planned (plan.h) and written anew (contract.h), maps are
// rewritten (map.h); anything else stays. The result prints, parses and runs on
// the interpreter.
#ifndef OCANNL_CORE_SCHEDULE_SCHEDULE_H_
#define OCANNL_CORE_SCHEDULE_SCHEDULE_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/decisions.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// `program` must be one that Verify accepts, and so is the result. The result
// has the same buffers in the same order, but for temps and private ones; two
// axes of a buffer may have become one (collapse.h).
LoopProgram Schedule(LoopProgram program, const Target& target);

// The same; adds what it does to `taken`.
LoopProgram Schedule(LoopProgram program, const Target& target,
                     Decisions& taken);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_SCHEDULE_H_
