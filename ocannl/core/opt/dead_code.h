// SPDX-License-Identifier: Apache-2.0
//
// Dead code elimination: drops dead stores, to temps and locals that no live
// store reads, loops left empty and declarations left unused. The pass is
// called `prune`. Liveness is of whole buffers, without regard to order, by
// counts of readers.
//
//   zero_out t; t[0] := 1; y[0] := 2;   ->   y[0] := 2;
#ifndef OCANNL_CORE_OPT_DEAD_CODE_H_
#define OCANNL_CORE_OPT_DEAD_CODE_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

LoopProgram EliminateDeadCode(LoopProgram program);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_DEAD_CODE_H_
