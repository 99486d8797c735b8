// SPDX-License-Identifier: Apache-2.0
//
// Operations of the user's as two texts, like those of the source documents:
//
//   DefineOp("pointmul", "v =: v1 * v2", "g1 =+ g * v2; g2 =+ v1 * g");
//   DefineOp("matmul", "v =:+ v1 * v2", "g1 =+ g * v2; g2 =+ v1 * g");
//
// v is the value of the result, v1, v2 ... those of the operands; g, g1, g2 ...
// are their gradients. Synonyms of v are t, t.value and lhs, and of v1 t1,
// t1.value, rhs1 and rhs; t1.grad is g1; and so on. In the formulas `*`
// multiplies numbers.
#ifndef OCANNL_CORE_NOTATION_STATEMENTS_DEFINE_H_
#define OCANNL_CORE_NOTATION_STATEMENTS_DEFINE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/notation/names.h"
#include "ocannl/core/tensor/defined_op.h"

namespace ocannl {

// `forward` sets v, and says with =:+ or =:@^ how terms accumulate where axes
// are reduced: to their sum, or the greatest. `backward` adds to gradients, or
// subtracts; an operand without a statement gets no gradient. `numbers` of
// `names` are for !.x, !..n and conditions.
// Errors, with line and column: what is not the notation, other names, anything
// but numbers and pointwise operations in a formula, and a deeper one than
// core/ops/depth.h allows.
absl::StatusOr<std::shared_ptr<const OpDefinition>> DefineOp(
    std::string name, absl::string_view forward, absl::string_view backward,
    const Names& names = {});

}  // namespace ocannl

#endif  // OCANNL_CORE_NOTATION_STATEMENTS_DEFINE_H_
