// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/select/post_order.h"

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl::jit {

const std::vector<PostOrderNode>& PostOrders::Of(ExprId root) {
  auto [it, inserted] = orders_.try_emplace(root);
  if (!inserted) return it->second;
  std::vector<PostOrderNode>& nodes = it->second;
  ExprPool& exprs = program_->exprs;
  absl::flat_hash_map<ExprId, int> numbers;
  Rewrite(exprs, ExpandToDraws(exprs, root), [&](ExprId id) {
    numbers[id] = static_cast<int>(nodes.size());
    PostOrderNode& node = nodes.emplace_back(PostOrderNode{.expr = exprs[id]});
    if (const Apply* apply = std::get_if<Apply>(&node.expr)) {
      for (ExprId arg : apply->args) node.args.push_back(numbers.at(arg));
    }
    return id;
  });
  return nodes;
}

}  // namespace ocannl::jit
