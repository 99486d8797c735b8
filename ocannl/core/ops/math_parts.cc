// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/math_parts.h"

#include <cmath>

#include "ocannl/core/base/check.h"

namespace ocannl {

const FloatFormat& FormatOf(DType dtype) {
  static constexpr FloatFormat kF32 = {.word = DType::kI32,
                                       .fraction_bits = 23,
                                       .bias = 127,
                                       .rounder = 0x1.8p23,
                                       .least_normal = 0x1p-126};
  static constexpr FloatFormat kF64 = {.word = DType::kI64,
                                       .fraction_bits = 52,
                                       .bias = 1023,
                                       .rounder = 0x1.8p52,
                                       .least_normal = 0x1p-1022};
  CHECK(IsFloat(dtype)) << Name(dtype);
  return dtype == DType::kF32 ? kF32 : kF64;
}

Expr Polynomial(Expr x, absl::Span<const double> c) {
  Expr sum = LiteralLike(x, c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = Fma(sum, x, c[i]);
  return sum;
}

Expr PowerOfTwo(Expr word, DType dtype) {
  return Bitcast(word << FormatOf(dtype).fraction_bits, dtype);
}

// A normal result is y with n added to its exponent. A subnormal result is a
// number v of units of 2^-(bias + f - 1), for f = fraction_bits. The sum M + y
// P with M = -8 and P = -2^(n + bias + 2) rounds it: an ulp of M stands for one
// unit, so that the word of the sum is the word of M, and v. The word n << f is
// P as it stands, since the bit above the exponent is the sign.
//
// The greater word is the result: with v = 2^f both are least_normal, for more
// the word of the sum grows by at most as much as the other, and for less by 1
// while the other falls by 2 or more. For n >= -1 the sum is -infinity or above
// M, and its word is less as well.
Expr TimesPowerOfTwo(Expr y, Expr word) {
  constexpr double kBase = -8;
  const FloatFormat& format = FormatOf(y.dtype());
  Expr power = word << format.fraction_bits;
  Expr normal = Bitcast(y, format.word) + power;
  Expr sum = Fma(y, Bitcast(power, y.dtype()), kBase);
  Expr base = Bitcast(LiteralLike(y, kBase), format.word);
  Expr subnormal = Bitcast(sum, format.word) - base;
  return Bitcast(Max(normal, subnormal), y.dtype());
}

Expr TimesPowerOfTwo(Expr y, int n) {
  return TimesPowerOfTwo(y, Literal(*y.pool(), FormatOf(y.dtype()).word, n));
}

Pair FastTwoSum(Expr a, Expr b) {
  Expr sum = a + b;
  return {.hi = sum, .lo = b - (sum - a)};
}

Pair TwoProduct(Expr a, Expr b) {
  Expr product = a * b;
  return {.hi = product, .lo = Fma(a, b, -product)};
}

Pair SqrtOfPair(Pair x) {
  Expr root = Sqrt(x.hi);
  Expr residue = Fma(-root, root, x.hi) + x.lo;
  return {.hi = root, .lo = residue * 0.5 * RoughRecip(root)};
}

// The bits of a float are, but for a factor and a summand, near to its binary
// logarithm, of which this changes the sign; 0.1011 makes the errors even.
Expr RoughRecip(Expr x) {
  const FloatFormat& format = FormatOf(x.dtype());
  const double zero =
      std::rint(std::ldexp(2 * format.bias - 0.1011, format.fraction_bits));
  return Bitcast(zero - Bitcast(x, format.word), x.dtype());
}

Expr WithSign(Expr y, Expr x) {
  const DType word = FormatOf(x.dtype()).word;
  Expr sign = Bitcast(LiteralLike(x, -0.0), word);
  return Bitcast((Bitcast(x, word) & sign) | Bitcast(y, word), x.dtype());
}

}  // namespace ocannl
