// SPDX-License-Identifier: Apache-2.0
//
// asin, acos, atan and atan2.
//
// Near 0 they are x + x^3 p(x^2) with a polynomial p. Beyond 1/2, asin and acos
// go by acos(x) = 2 asin(sqrt((1 - x) / 2)); atan by the angles to pi / 4 and
// pi / 2. A multiple of pi / 2 and the argument are summed with what
// rounding loses, and the root and atan2's quotient have two parts.
//
// Polynomials are minimax for the relative error, which is what "2^-30" beside
// the coefficients says: found by Remez's exchange on a grid, in 60 digits,
// then rounded.
#include <cmath>
#include <limits>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

// (asin(x) / x - 1) / x^2 in x^2 on [0, 0.5]: 2^-30 and 2^-59.
constexpr double kAsinTail32[] = {0.166666597, 0.0750050396, 0.0445169583,
                                  0.031807702, 0.0144386385, 0.03751643};
constexpr double kAsinTail64[] = {
    0.1666666666666676,    0.074999999999708009, 0.044642857174610494,
    0.030381942707856519,  0.022372214985460021, 0.017351612054729824,
    0.013980820039490508,  0.011398916447706421, 0.010780229054324984,
    0.0037064979061608764, 0.021707232002447979, -0.020998760989148178,
    0.032628436936875282};
// (atan(x) / x - 1) / x^2 in x^2 on [0, kNear]: 2^-29 and 2^-56.
constexpr double kAtanTail32[] = {-0.333333254, 0.199994683,   -0.142741188,
                                  0.109892882,  -0.0838599205, 0.0531469733,
                                  -0.0189370271};
constexpr double kAtanTail64[] = {
    -0.33333333333332793,  0.1999999999987882,    -0.14285714276203493,
    0.11111110732792903,   -0.090909001360366545, 0.07692169829433719,
    -0.066652090453671792, 0.058713980661467852,  -0.052033685821700981,
    0.04522051869245413,   -0.036367467371243078, 0.024392116058908175,
    -0.011548961503467443, 0.002773167570673799};

// Where an arc tangent is measured from an angle that is not 0; from 1.557 on,
// the reciprocal, the result is greater than 1.
constexpr double kNear = 0.6422;

// pi / 2 = hi (1 + ratio)
struct HalfPi {
  double hi;
  double ratio;
};

HalfPi HalfPiFor(Expr x) {
  if (x.dtype() == DType::kF32) return {0x1.921fb6p+0, -2.78275344e-08};
  return {0x1.921fb54442d18p+0, 3.8981718325193755e-17};
}

// base + f(z) for f(x) = x + x^3 p(x^2), `square` = z^2 and a base that is 0 or
// greater than z.
Expr Sum(Pair base, Pair z, Expr square, Expr p) {
  Pair sum = FastTwoSum(base.hi, z.hi);
  Expr rest = sum.lo + (base.lo + z.lo);
  return sum.hi + Fma(z.hi * square, p, rest);
}

// An angle that is base + k asin(|x|) for k = 1 or -1, or, from 1/2 on, base +
// k asin(sqrt((1 - |x|) / 2)) for k = 2 or -2.
struct Side {
  Expr base;
  Expr k;
};

Expr SumOfAsin(Expr x, Side near, Side far) {
  Expr a = Abs(x);
  Expr is_near = a < 0.5;
  Expr half = Fma(a, -0.5, 0.5);
  Pair root = SqrtOfPair({.hi = half, .lo = LiteralLike(x, 0)});
  Expr square = Select(is_near, a * a, half);
  Expr p = x.dtype() == DType::kF32 ? Polynomial(square, kAsinTail32)
                                    : Polynomial(square, kAsinTail64);
  Expr base = Select(is_near, near.base, far.base);
  return Sum({.hi = base, .lo = base * HalfPiFor(x).ratio},
             {.hi = Select(is_near, near.k * a, far.k * root.hi),
              .lo = Select(is_near, 0, far.k * root.lo)},
             square, p);
}

// base + atan(z)
Expr SumOfAtan(Pair base, Pair z) {
  Expr square = z.hi * z.hi;
  Expr p = square.dtype() == DType::kF32 ? Polynomial(square, kAtanTail32)
                                         : Polynomial(square, kAtanTail64);
  return Sum(base, z, square, p);
}

}  // namespace

Expr AsinValue(Expr x) {
  Expr zero = LiteralLike(x, 0);
  Expr y = SumOfAsin(
      x, {.base = zero, .k = LiteralLike(x, 1)},
      {.base = LiteralLike(x, HalfPiFor(x).hi), .k = LiteralLike(x, -2)});
  return WithSign(y, x);
}

Expr AcosValue(Expr x) {
  const double half_pi = HalfPiFor(x).hi;
  Expr zero = LiteralLike(x, 0);
  Expr is_negative = x < 0;
  return SumOfAsin(
      x,
      {.base = LiteralLike(x, half_pi),
       .k = Select(is_negative, LiteralLike(x, 1), -1)},
      {.base = Select(is_negative, LiteralLike(x, 2 * half_pi), zero),
       .k = Select(is_negative, LiteralLike(x, -2), 2)});
}

// The angle of (1, |x|), less pi / 4 or pi / 2 where that makes it small.
Expr AtanValue(Expr x) {
  const auto [half_pi, ratio] = HalfPiFor(x);
  Expr a = Abs(x);
  Expr zero = LiteralLike(x, 0);
  Expr is_near = a < kNear;
  Expr is_far = 1 / kNear < a;
  Expr top = Select(is_near, a, Select(is_far, LiteralLike(x, -1), a - 1));
  Expr bottom = Select(is_near, 1, Select(is_far, a, a + 1));
  Expr base = Select(is_near, zero,
                     Select(is_far, LiteralLike(x, half_pi), half_pi / 2));
  Pair pair = {.hi = base, .lo = base * ratio};
  return WithSign(SumOfAtan(pair, {.hi = top / bottom, .lo = zero}), x);
}

// The angle of the lesser one of |y| and |x| to the greater one, mirrored.
Expr Atan2Value(Expr y, Expr x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const FloatFormat& format = FormatOf(x.dtype());
  const auto [half_pi, ratio] = HalfPiFor(x);
  Expr zero = LiteralLike(x, 0);
  Expr steep = Abs(x) < Abs(y);
  Expr lesser = Select(steep, Abs(x), Abs(y));
  // 0 / 0 is to be 0.
  Expr greater = Max(std::ldexp(format.least_normal, -format.fraction_bits),
                     Select(steep, Abs(y), Abs(x)));
  // Scaled, the sum and the residue are numbers, and the rough reciprocal.
  const int half = format.bias / 2;
  Expr scale = Select(greater < std::ldexp(1, half),
                      LiteralLike(x, std::ldexp(1, half - 4)), 0x1p-4);
  Expr low = lesser * scale, high = greater * scale;
  Expr diagonal = high * kNear <= low;
  // Infinity by itself is 1.
  Expr difference = Select(Equal(low, high), zero, low - high);
  Expr top = Select(diagonal, difference, low);
  Expr bottom = Select(diagonal, low + high, high);
  Expr z = top / bottom;
  Expr rest = Fma(-z, bottom, top) * RoughRecip(bottom);
  rest = Select(high < kInfinity, rest, zero);
  // In quarters of pi.
  Expr left = Bitcast(x, format.word) < 0;
  Expr sign = Select(NotEqual(left, steep), LiteralLike(x, -1), 1);
  Expr axis =
      Select(steep, LiteralLike(x, 2), Select(left, LiteralLike(x, 4), zero));
  Expr quarters = Select(diagonal, axis + sign, axis);
  Pair base = TwoProduct(quarters, LiteralLike(x, half_pi / 2));
  base.lo = Fma(base.hi, ratio, base.lo);
  Pair slope = {.hi = sign * z, .lo = sign * rest};
  // The slope of atan is 1 / (1 + z^2), about 1 - z^2.
  slope.lo = Fma(slope.hi * slope.hi, -slope.lo, slope.lo);
  return WithSign(SumOfAtan(base, slope), y);
}

Expr Atan2Slope(Expr c, Expr a, Expr b) {
  Expr square = Fma(a, a, b * b);
  return Select(Equal(square, 0), 0, c / square);
}

}  // namespace ocannl
