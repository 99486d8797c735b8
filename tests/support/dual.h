// SPDX-License-Identifier: Apache-2.0
//
// Dual numbers: the value of an expression and its exact derivative, computed
// together. What the rows of ops.def say about gradients is tested against it.
//
//   DualEvaluator at(pool, {{0, {.value = 2, .slope = 1}}});
//   at.Eval((x * x).id())        // value 4, slope 4
#ifndef TESTS_SUPPORT_DUAL_H_
#define TESTS_SUPPORT_DUAL_H_

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl {

struct Dual {
  double value = 0;
  double slope = 0;
};

// Knows primitives by their derivatives and transcendental rows by libm; any
// other derived row is its definition. Integers have no slope.
class DualEvaluator {
 public:
  // `leaves` gives each leaf's number a value.
  DualEvaluator(ExprPool& pool, absl::flat_hash_map<int, Dual> leaves)
      : pool_(pool), leaves_(std::move(leaves)) {}

  Dual Eval(ExprId id);

 private:
  Dual EvalNode(ExprId id);
  Dual EvalDerived(const Apply& apply);

  ExprPool& pool_;
  absl::flat_hash_map<int, Dual> leaves_;
  absl::flat_hash_map<ExprId, Dual> done_;
};

}  // namespace ocannl

#endif  // TESTS_SUPPORT_DUAL_H_
