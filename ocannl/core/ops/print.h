// SPDX-License-Identifier: Apache-2.0
//
// Scalar expressions as text: fma(w1[i3, i4], x[i4], (b[i3] + 0.5)).
//
// An f32 literal stands alone (0.5, inf, nan); other types are named (3:i64),
// bools are true and false. Numbers print in the shortest form that reads back.
#ifndef OCANNL_CORE_OPS_PRINT_H_
#define OCANNL_CORE_OPS_PRINT_H_

#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl {

// `leaf` prints a leaf. An infix operation is in parentheses unless it is the
// root.
std::string PrintExpr(const ExprPool& pool, ExprId root,
                      absl::FunctionRef<std::string(const Leaf&)> leaf);

std::string PrintConstant(const Constant& constant);

// The constant of type `dtype` that `text` spells, if it spells one: a number
// that `dtype` does not round to an infinity, inf or nan, without sign.
std::optional<Constant> ParseConstant(absl::string_view text, DType dtype);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_PRINT_H_
