// SPDX-License-Identifier: Apache-2.0
//
// cbrt and hypot.
//
// cbrt: y = x^(-1/3) within 3.5 % by a third of x's bits; with h = 1 - x y^3 it
// is y (1 - h)^(-1/3), of which a polynomial is near to 2^-18 (f32) or 2^-32;
// then one step of Newton's for x y^2, with the exact residue. The polynomial
// is minimax for the relative error: found by Remez's exchange on a grid, in 60
// digits, then rounded.
//
// hypot: the root of a sum of squares in two parts, of numbers scaled by the
// power of two that makes the greater one near to 1.
#include <cmath>
#include <limits>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ((1 - h)^(-1/3) - 1) / h for |h| < 0.104.
constexpr double kRoot32[] = {0.333327204, 0.223522455, 0.17476742};
constexpr double kRoot64[] = {0.33333334694410471, 0.22222225933487633,
                              0.17282921986100025, 0.1440163825571289,
                              0.12674139987511482, 0.11317534086369788};

// The bits of a third of the logarithm of 1 / x, as RoughRecip has all of it;
// 0.068 makes the errors even. The quotient by 3 is a product with shift.
Expr RoughInverseRoot(Expr x) {
  const FloatFormat& format = FormatOf(x.dtype());
  const bool is_f32 = x.dtype() == DType::kF32;
  const int shift = is_f32 ? 15 : 32;
  const double third = is_f32 ? 10923 : 1431655765;
  const double zero =
      std::ldexp(format.bias * 4 / 3. - 0.068, format.fraction_bits);
  Expr word = Bitcast(x, format.word);
  return Bitcast(std::rint(zero) - (word >> shift) * third, x.dtype());
}

}  // namespace

Expr CbrtValue(Expr x) {
  const bool is_f32 = x.dtype() == DType::kF32;
  Expr a = Abs(x);
  // What the residue loses would be denormal.
  Expr is_small = a < (is_f32 ? 0x1p-60 : 0x1p-600);
  Expr scaled = Select(is_small, a * (is_f32 ? 0x1p+60 : 0x1p+600), a);
  Expr y = RoughInverseRoot(scaled);
  Expr h = Fma(-(scaled * y), y * y, 1);
  y = Fma(y * h, is_f32 ? Polynomial(h, kRoot32) : Polynomial(h, kRoot64), y);
  Expr inverse_square = y * y;
  Expr root = scaled * inverse_square;
  Pair square = TwoProduct(root, root);
  Expr residue = Fma(-square.lo, root, Fma(-square.hi, root, scaled));
  root = Fma(residue, inverse_square * (1 / 3.), root);
  root = Select(is_small, root * (is_f32 ? 0x1p-20 : 0x1p-200), root);
  return WithSign(Select(a < kInfinity, root, a), x);
}

Expr HypotValue(Expr x, Expr y) {
  const FloatFormat& format = FormatOf(x.dtype());
  auto exponent = [&](int e) { return std::ldexp(e, format.fraction_bits); };
  x = Abs(x);
  y = Abs(y);
  // Of a NaN, one of them is it.
  Expr ordered = y < x;
  Expr greater = Select(ordered, x, y);
  Expr infinite = Bitcast(LiteralLike(x, kInfinity), format.word);
  Expr scale = Max(exponent(2 * format.bias - 1) -
                       (Bitcast(greater, format.word) & infinite),
                   exponent(1));
  Expr up = Bitcast(scale, x.dtype());
  Expr a = greater * up;
  Expr b = Select(ordered, y, x) * up;
  Pair square = TwoProduct(a, a);
  Expr sum = Fma(b, b, square.hi);
  Expr lost = Fma(b, b, square.hi - sum) + square.lo;
  Pair root = SqrtOfPair({.hi = sum, .lo = lost});
  Expr down = Bitcast(exponent(2 * format.bias) - scale, x.dtype());
  Expr is_infinite = Equal(x, kInfinity) | Equal(y, kInfinity);
  return Select(is_infinite, LiteralLike(x, kInfinity),
                (root.hi + root.lo) * down);
}

}  // namespace ocannl
