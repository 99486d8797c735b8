// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/cost.h"

#include <variant>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {

int Cost(LoopProgram& program, ExprId value) {
  ExprId root = Expand(program.exprs, value);
  absl::flat_hash_set<ExprId> seen = {root};
  std::vector<ExprId> stack = {root};
  int cost = 0;
  while (!stack.empty()) {
    const ExprNode& node = program.exprs[stack.back()];
    stack.pop_back();
    if (const Leaf* leaf = std::get_if<Leaf>(&node)) {
      bool loads = std::holds_alternative<Access>(program.At(*leaf));
      cost += loads ? kLoadCost : 0;
    } else if (const Apply* apply = std::get_if<Apply>(&node)) {
      bool slow = apply->op == Op::kDiv || apply->op == Op::kRem ||
                  apply->op == Op::kSqrt;
      cost += slow ? 8 : 1;
      for (ExprId arg : apply->args) {
        if (seen.insert(arg).second) stack.push_back(arg);
      }
    }
  }
  return cost;
}

}  // namespace ocannl
