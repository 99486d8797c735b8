// SPDX-License-Identifier: Apache-2.0
//
// Constant folding: the value of one primitive on constants.
#ifndef OCANNL_CORE_OPS_EVAL_H_
#define OCANNL_CORE_OPS_EVAL_H_

#include "absl/types/span.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

// op(args...) for a primitive `op`; `dtype` is the type of the result.
Constant EvalPrimitive(Op op, DType dtype, absl::Span<const Constant> args);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_EVAL_H_
