// SPDX-License-Identifier: Apache-2.0
//
// Which gradients are 0 wherever the gradient of the result is. Their sums into
// windows may be decomposed by phase (core/index/polyphase.h), which reads that
// gradient as 0 outside of the result.
#ifndef OCANNL_CORE_ASSIGN_ZEROS_H_
#define OCANNL_CORE_ASSIGN_ZEROS_H_

#include "ocannl/core/ops/expr.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// Whether `value`, what `source` adds to the gradient of an operand, is 0 where
// the leaf `gradient` is, also where the operands are what is outside of them:
// infinities for a maximum. Leaves from `operand` on are the operands. A
// defined operation's formula may be a sum or a choice of products:
//
//   g1 =+ where (hit, g, 0)    yes
//   g1 =+ 2 * g * v2 - g       yes, if the operation sums its terms
//   g1 =+ g * (v1 * v2)        no: v1 * v2 may overflow, and then it is a NaN
bool PreservesZeros(const ComputeSource& source, const ExprPool& pool,
                    ExprId value, int gradient, int operand);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_ZEROS_H_
