// SPDX-License-Identifier: Apache-2.0
//
// The static cost model: what evaluating an expression once costs, in units of
// one simple operation on one number that is in a register.
//
// The costs are round figures: what they decide, whether Virtualize inlines, is
// measured by `bazel run //experiments:bench -- --filter=map/,rows/,mlp/`.
#ifndef OCANNL_CORE_OPT_COST_H_
#define OCANNL_CORE_OPT_COST_H_

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

inline constexpr int kLoadCost = 1;  // from L1
inline constexpr int kStoreCost = 1;
inline constexpr int kLookupCost = 4;  // what it reads included

// Keeps what it has found out of derived functions.
class CostModel {
 public:
  // Operations, loads and lookups of `value`; a shared operand counts once. A
  // constant, a local and an index are free. Divisions and square roots count 8
  // operations, derived functions what their definitions hold.
  int Cost(const LoopProgram& program, ExprId value);

 private:
  int CostOf(const ExprPool& pool, const Apply& apply);

  // By op and types, that of the result first.
  absl::flat_hash_map<std::pair<Op, std::vector<DType>>, int> derived_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_COST_H_
