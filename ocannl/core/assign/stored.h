// SPDX-License-Identifier: Apache-2.0
//
// StoredAs: the value of an assignment, as an array of `dtype` stores it.
//
//   StoredAs(fma(f32(a), f32(b), f32(c)), bf16)   rounds once
//
// Narrow floats are computed in f32 and rounded when they are stored. Sums,
// products, quotients and roots of numbers of p bits are so rounded only once:
// f32 has 2 p + 2 bits or more. See Figueroa, "When is double rounding
// innocuous?", 1995. A fused multiply-add needs more bits. Its first rounding
// is to odd, which makes the second one right (Boldo and Melquiond, "Emulation
// of a FMA and correctly rounded sums: proved algorithms using rounding to
// odd", 2008).
#ifndef OCANNL_CORE_ASSIGN_STORED_H_
#define OCANNL_CORE_ASSIGN_STORED_H_

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl {

// The `value`, converted to `dtype`. If it is fma(a, b, c) and `dtype` is
// narrow, it is rounded once, for operands that are leaves of that dtype,
// converted to f32, or numbers of it.
Expr StoredAs(Expr value, DType dtype);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_STORED_H_
