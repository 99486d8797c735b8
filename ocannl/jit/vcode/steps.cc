// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/steps.h"

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl::jit {

const std::vector<Step>& Steps::Of(ExprId root) {
  auto [it, inserted] = steps_.try_emplace(root);
  if (!inserted) return it->second;
  std::vector<Step>& steps = it->second;
  ExprPool& exprs = program_->exprs;
  absl::flat_hash_map<ExprId, int> places;
  Rewrite(exprs, Expand(exprs, root), [&](ExprId id) {
    places[id] = static_cast<int>(steps.size());
    Step& step = steps.emplace_back(Step{.node = exprs[id]});
    if (const Apply* apply = std::get_if<Apply>(&step.node)) {
      for (ExprId arg : apply->args) step.args.push_back(places.at(arg));
    }
    return id;
  });
  return steps;
}

}  // namespace ocannl::jit
