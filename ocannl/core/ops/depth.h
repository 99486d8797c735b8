// SPDX-License-Identifier: Apache-2.0
//
// How deeply values and loops nest: what is built from texts and graphs is held
// to bounds, so that walks over programs may recurse.
#ifndef OCANNL_CORE_OPS_DEPTH_H_
#define OCANNL_CORE_OPS_DEPTH_H_

#include "ocannl/core/ops/expr.h"

namespace ocannl {

// Deep enough for any program worth writing, shallow enough for any stack, also
// where passes put a few such values together or cut loops into several.
inline constexpr int kMaxValueDepth = 200;
inline constexpr int kMaxLoopDepth = 200;

// How many operations of `root` are inside of one another, at most; `depths`
// has what is known of its nodes.
int DepthOf(const ExprPool& pool, ExprId root, NodeMap<int>& depths);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_DEPTH_H_
