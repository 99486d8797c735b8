// SPDX-License-Identifier: Apache-2.0
//
// The static cost model: what evaluating an expression once costs, in units of
// one simple operation on one number that is in a register.
//
// The costs are round figures: what they decide, whether Virtualize inlines, is
// measured by `bazel run //experiments:bench -- --filter=map/,rows/,mlp/`.
#ifndef OCANNL_CORE_OPT_COST_H_
#define OCANNL_CORE_OPT_COST_H_

#include <cstdint>

#include "ocannl/core/loop/loop.h"

namespace ocannl {

inline constexpr int kLoadCost = 1;  // from L1
inline constexpr int kStoreCost = 1;
// A buffer of so many bytes does not fit in the caches next to a core. A store
// into it also loads the line. To measure: `bazel run //experiments:bench --
// --filter=net/`.
inline constexpr int64_t kLargeBytes = int64_t{4} << 20;
inline constexpr int kLargeLoadCost = 8;
inline constexpr int kLargeStoreCost = 16;
inline constexpr int kLookupCost = 4;  // what it reads included

// Operations, loads and lookups of `value`; a shared operand counts once. A
// constant, a local and an index are free. Divisions and square roots count 8
// operations, derived functions what their definitions hold.
int CostOf(const LoopProgram& program, ExprId value);

// Operations of `value`, as rooflines count them: each primitive is one, a
// division too, and an fma two.
struct Arithmetic {
  int operations = 0;  // of any dtype
  int flops = 0;       // of a float result
};
Arithmetic ArithmeticOf(const LoopProgram& program, ExprId value);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPT_COST_H_
