// SPDX-License-Identifier: Apache-2.0
//
// The rows of ops.def, read as expressions.
//
//   Expand(pool, relu(x))   ->   max(0, x)
//   Gradients(relu, {x}, y, g)   ->   {relu_gate(x, g)}
#ifndef OCANNL_CORE_OPS_ROWS_H_
#define OCANNL_CORE_OPS_ROWS_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

// The value of the derived `op` on `args`, written with other rows.
Expr Definition(Op op, absl::Span<const Expr> args);

// What is added to each operand's gradient when `g` is the gradient of
// y = op(args...); nullopt where no gradient flows.
std::vector<std::optional<Expr>> Gradients(Op op, absl::Span<const Expr> args,
                                           Expr y, Expr g);

// Rebuilds `root` bottom-up: `node` gets each node, its operands rebuilt
// already, and returns what stands in its place. Shared nodes are rebuilt once.
// `done` has what was rebuilt so, and stays as it is.
ExprId Rewrite(ExprPool& pool, ExprId root, ExprMap& done,
               absl::FunctionRef<ExprId(ExprId)> node);
ExprId Rewrite(ExprPool& pool, ExprId root,
               absl::FunctionRef<ExprId(ExprId)> node);

// `root` with primitives only. A bitcast of `root` sees the canonical NaN for
// every NaN: the bits of others may differ between tiers. Those in definitions
// see what is there, which costs less: a result never depends on it, but for
// the bits of a NaN.
ExprId Expand(ExprPool& pool, ExprId root);

// The same, but for draws (random.h), which stay: for a tier that computes a
// block in a way of its own.
ExprId ExpandToDraws(ExprPool& pool, ExprId root);

// The value of `root`, which has no leaves.
Constant Fold(ExprPool& pool, ExprId root);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_ROWS_H_
