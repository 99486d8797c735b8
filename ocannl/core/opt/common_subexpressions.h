// SPDX-License-Identifier: Apache-2.0
//
// Common subexpression elimination in one statement, and its inverse. The pass
// is called `share`.
//
//   y[i0] := exp(x[i0]) / (1 + exp(x[i0]))   ->   let v0 : f32 := exp(x[i0]);
//                                                 y[i0] := v0 / (1 + v0);
//
// Expressions are hash-consed (core/ops/expr.h): equal text has equal ids. It
// has an equal value within one statement, which reads everything before it
// writes; nothing is reused across statements.
#ifndef OCANNL_CORE_OPT_COMMON_SUBEXPRESSIONS_H_
#define OCANNL_CORE_OPT_COMMON_SUBEXPRESSIONS_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

LoopProgram EliminateCommonSubexpressions(LoopProgram program);

// Forward substitution of locals: where a block holds declarations and one
// assignment, writes the declared values into it, unless it would be deeper
// than kMaxValueDepth.
LoopProgram InlineLocals(LoopProgram program);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_COMMON_SUBEXPRESSIONS_H_
