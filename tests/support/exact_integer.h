// SPDX-License-Identifier: Apache-2.0
//
// What the rows of ops.def are on integers, in numbers that hold each result.
#ifndef TESTS_SUPPORT_EXACT_INTEGER_H_
#define TESTS_SUPPORT_EXACT_INTEGER_H_

#include "ocannl/core/ops/op.h"

namespace ocannl {

__extension__ using Int128 = __int128;

// A row on integers that stand for numbers of `width` bits: the exact result,
// to be wrapped. Fails the test if it does not know the row.
Int128 ExactInteger(Op op, int width, Int128 a, Int128 b, Int128 c);

}  // namespace ocannl

#endif  // TESTS_SUPPORT_EXACT_INTEGER_H_
