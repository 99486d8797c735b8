// SPDX-License-Identifier: Apache-2.0
//
// Prune: drops stores to temps and locals that nothing reads, loops left empty
// and declarations left unused.
//
//   zero_out t; t[0] := 1; y[0] := 2;   ->   y[0] := 2;
#ifndef OCANNL_CORE_OPT_PRUNE_H_
#define OCANNL_CORE_OPT_PRUNE_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

LoopProgram Prune(LoopProgram program);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_PRUNE_H_
