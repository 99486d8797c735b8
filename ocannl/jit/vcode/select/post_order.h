// SPDX-License-Identifier: Apache-2.0
//
// PostOrders: the nodes of an expression in post-order: operands before their
// users, each once.
//
//   exp(x) + x   ->   x, ...(the primitives of exp)..., +
#ifndef OCANNL_JIT_VCODE_SELECT_POST_ORDER_H_
#define OCANNL_JIT_VCODE_SELECT_POST_ORDER_H_

#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/container/node_hash_map.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::jit {

struct PostOrderNode {
  ExprNode expr;
  absl::InlinedVector<int, 3> args = {};  // numbers of earlier nodes
};

// Makes each list once. The program must outlive it.
class PostOrders {
 public:
  explicit PostOrders(LoopProgram* program) : program_(program) {}

  // The last node is `root`. Derived ops but draws are expanded.
  const std::vector<PostOrderNode>& Of(ExprId root);

 private:
  LoopProgram* program_;
  absl::node_hash_map<ExprId, std::vector<PostOrderNode>> orders_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_SELECT_POST_ORDER_H_
