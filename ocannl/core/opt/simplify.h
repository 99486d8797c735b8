// SPDX-License-Identifier: Apache-2.0
//
// Simplify: algebraic simplification by the rules of rules.def, and constant
// folding.
//
//   y[i0] := x[i0] * 1 + sqrt(4)   ->   y[i0] := x[i0] + 2
#ifndef OCANNL_CORE_OPT_SIMPLIFY_H_
#define OCANNL_CORE_OPT_SIMPLIFY_H_

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/opt/rules.h"

namespace ocannl {

// Applies the exact rules and, when `most` is kReal, the real ones too.
LoopProgram Simplify(LoopProgram program, RuleClass most);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_SIMPLIFY_H_
