// SPDX-License-Identifier: Apache-2.0
//
// FindZeroSigns: where the results of code depend on the sign of a zero. A
// backward analysis of the list of assignments, as that of live variables.
//
//   n =:+ w * x        may be -0 where products underflow
//   y =: relu (b + n)  passes the sign on
//   z =:+ v * y        does not: a sum of floats ends with + 0
//
// Where no result depends on it, lower.h leaves out the `+ 0` of a sum.
#ifndef OCANNL_CORE_ASSIGN_SUMS_ZERO_SIGNS_H_
#define OCANNL_CORE_ASSIGN_SUMS_ZERO_SIGNS_H_

#include <cstddef>
#include <vector>

#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/ops/op.h"

namespace ocannl {

struct ZeroSigns {
  // Of each Assign of the list, whether results depend on the sign of a
  // zero that its target holds after it.
  std::vector<bool> target;
  // The same of a zero that it reads: of the sources of all, in order.
  std::vector<bool> sources;
};

// Whether the assignment is a reduction that ends with `+ 0`.
bool EndsWithZero(const Assignments& code, const Assign& assign);

// `is_kept` tells of each array whether its values are results. Reductions that
// end with `+ 0` are taken to do so where results depend on it.
ZeroSigns FindZeroSigns(const Assignments& code,
                        const std::vector<bool>& is_kept);

// What becomes of the sign of a zero that is operand `arg` of `op`.
enum class ZeroSign {
  kHidden,   // the value is the same for both
  kPassed,   // the value is the same, but for the sign of a zero
  kVisible,  // all else, such as 1 / x
};
ZeroSign SignThrough(Op op, size_t arg);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_SUMS_ZERO_SIGNS_H_
