// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/depth.h"

#include <algorithm>
#include <variant>

namespace ocannl {

int DepthOf(const ExprPool& pool, ExprId root, NodeMap<int>& depths) {
  return VisitOnce<int>(pool, root, depths, [&](ExprId id) {
    const Apply* apply = std::get_if<Apply>(&pool[id]);
    if (apply == nullptr) return 0;
    int deepest = 0;
    for (ExprId arg : apply->args) deepest = std::max(deepest, depths.at(arg));
    return deepest + 1;
  });
}

}  // namespace ocannl
