// SPDX-License-Identifier: Apache-2.0
//
// PostOrders: the nodes of expressions in the order in which they are selected,
// and which of them may be skipped.
#ifndef OCANNL_JIT_VCODE_SELECT_POST_ORDERS_H_
#define OCANNL_JIT_VCODE_SELECT_POST_ORDERS_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl::jit {

struct PostOrderNode {
  ExprNode expr;
  absl::InlinedVector<int, 3> args = {};  // numbers of earlier nodes
  int needed_by = -1;   // the select of which one long arm alone needs it
  int skipped_arm = 0;  // of a select: the operand that is such an arm, if any
};

// The nodes of expressions in post-order: operands before their users, each
// once. Makes each list once.
//
//   exp(x) + x   ->   x, ...(the primitives of exp)..., +
class PostOrders {
 public:
  explicit PostOrders(ExprPool& exprs) : exprs_(exprs) {}

  // The last node is `root`. Derived ops but draws are expanded.
  const std::vector<PostOrderNode>& Of(ExprId root);

 private:
  ExprPool& exprs_;
  absl::node_hash_map<ExprId, std::vector<PostOrderNode>> orders_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_POST_ORDERS_H_
