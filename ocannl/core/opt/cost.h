// SPDX-License-Identifier: Apache-2.0
//
// What evaluating an expression once costs, in units of one simple operation
// on one number that is in a register.
#ifndef OCANNL_CORE_OPT_COST_H_
#define OCANNL_CORE_OPT_COST_H_

#include "ocannl/core/loop/loop.h"

namespace ocannl {

inline constexpr int kLoadCost = 1;  // from a near cache
inline constexpr int kStoreCost = 1;

// Operations and loads of `value`; a shared operand counts once. A constant, a
// local and an index are free. Divisions and square roots count 8 operations,
// derived functions what their definitions hold.
int Cost(LoopProgram& program, ExprId value);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_COST_H_
