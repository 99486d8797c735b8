// SPDX-License-Identifier: Apache-2.0
//
// What the algorithms of math.h share: the layout of floats as words, Horner's
// scheme for polynomials, and double-double arithmetic (Dekker 1971).
#ifndef OCANNL_CORE_OPS_MATH_PARTS_H_
#define OCANNL_CORE_OPS_MATH_PARTS_H_

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"

namespace ocannl {

// A finite float is (1 + fraction / 2^fraction_bits) * 2^(exponent - bias).
struct FloatFormat {
  DType word;           // the signed integer of the same size
  int fraction_bits;    // the exponent stands above them, then the sign
  int bias;             // of the exponent
  double rounder;       // x + rounder is x rounded to an integer, + rounder
  double least_normal;  // the least positive float that is not denormal
};

// The format of f32 or f64.
const FloatFormat& FormatOf(DType dtype);

// Horner's scheme: c[0] + x * (c[1] + x * (c[2] + ...)), one fma per step.
Expr Polynomial(Expr x, absl::Span<const double> c);

// 2^(word - bias) for an integer expression `word`, of which only the bits of
// an exponent count; `dtype` is f32 or f64.
Expr PowerOfTwo(Expr word, DType dtype);

// y * 2^n for a y that is 0, or normal and positive, rounded once, by no
// operation that underflows; of no meaning for other y. The low bits of the
// integer `word` are n >= -2 bias. y 2^n must be less than infinity, and y at
// least 1/2 for n = -1.
Expr TimesPowerOfTwo(Expr y, Expr word);
Expr TimesPowerOfTwo(Expr y, int n);

// A double-double number: an unevaluated sum, more precise than one number.
struct Pair {
  Expr hi;
  Expr lo;
};

// hi + lo = a + b exactly, provided that a is 0 or |a| >= |b|.
Pair FastTwoSum(Expr a, Expr b);

// hi + lo = a * b exactly.
Pair TwoProduct(Expr a, Expr b);

// hi + lo = sqrt(x.hi + x.lo), but for 5 % of lo; x.lo is small beside x.hi.
Pair SqrtOfPair(Pair x);

// 1 / x within 5 % for 0 < x < 2^(bias - 1), for corrections; finite for 0.
Expr RoughRecip(Expr x);

// `y`, which is not negative, with the sign of x.
Expr WithSign(Expr y, Expr x);

// 2^(x.hi + x.lo), where x.lo is small beside x.hi; math_exp.cc.
Expr Exp2OfPair(Pair x);

// x = n ln2 + r with |r| <= ln2 / 2, about; `power` is 2^(n + shift), which
// must be in the range of normal numbers.
struct PairReduction {
  Expr power;
  Pair r;
};

// The reduction of x.hi + x.lo, where x.lo is small beside x.hi; math_exp.cc.
PairReduction ReduceExp(Pair x, int shift);

// e^x = (1 + r + rest) 2^n with a rest that is small beside 1; `power` is
// 2^(n + shift), which must be in the range of normal numbers.
struct ScaledExp {
  Expr power;
  Expr r;
  Expr rest;
};

// e^(x.hi + x.lo), where x.lo is small beside x.hi; math_exp.cc.
ScaledExp ExpOfPair(Pair x, int shift);

// log(2^shift (x.hi + x.lo)) for a normal finite x.hi > 0 and an x.lo of at
// most a few ulps of it; math_log.cc.
Expr LogOfPair(Pair x, int shift);

// log2(x) for an f64 x >= 0, with an error of about 2^-64 of it; math_log.cc.
Pair Log2AsPair(Expr x);

}  // namespace ocannl

#endif  // OCANNL_CORE_OPS_MATH_PARTS_H_
