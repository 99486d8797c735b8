// SPDX-License-Identifier: Apache-2.0
//
// Share: computes an operation that occurs more than once in one statement
// once, and names it.
//
//   y[i0] := exp(x[i0]) / (1 + exp(x[i0]))   ->   let v0 : f32 := exp(x[i0]);
//                                                 y[i0] := v0 / (1 + v0);
//
// Equal text is equal value within one statement, since it reads everything
// before it writes; nothing is shared between statements.
#ifndef OCANNL_CORE_OPT_SHARE_H_
#define OCANNL_CORE_OPT_SHARE_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

LoopProgram Share(LoopProgram program);

// The other way: where a block holds declarations and one assignment, writes
// the declared values into it, unless it would be deeper than kMaxValueDepth.
LoopProgram Unshare(LoopProgram program);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_SHARE_H_
