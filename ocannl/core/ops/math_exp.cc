// SPDX-License-Identifier: Apache-2.0
//
// exp, exp2, tanh, sigmoid, silu and softplus.
//
// All reduce x = n ln2 + r with |r| <= ln2 / 2 by subtraction of n ln2 in two
// parts (Cody and Waite 1980) and use e^r - 1 = r (1 + r q(r)) with a
// polynomial q. Coefficients are minimax for the relative error of e^r;
// "2^-28" beside them is that error. An intermediate t = n + rounder holds n in
// its low bits, which saves conversions to integers.
//
// No operation underflows, because processors take some 200 cycles for each
// vector where one does. Subnormal results are made with integers instead
// (TimesPowerOfTwo in math_parts.h).
#include <cmath>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

struct ExpConstants {
  double log2e;
  double ln2_hi;  // few bits, so that n * ln2_hi is exact
  double ln2_lo;
  double exp_least;                       // exp of this and of less is 0,
  double exp_end;                         // of this and of more infinity,
  double exp2_least;                      // and so for exp2.
  double exp2_end;                        //
  double tanh_most;                       // tanh of more is 1,
  double sigmoid_most;                    // sigmoid too, silu x;
  double sigmoid_least;                   // e^-x of more is finite
  double silu_least;                      // silu of less is -0.
  int silu_shift;                         // 2^-shift e^-x is finite then
  absl::Span<const double> exp_tail;      // q
  absl::Span<const double> exp2_tail;     // (2^r - 1) / r
  absl::Span<const double> tanh_slope;    // see kTanhSlope32
  absl::Span<const double> tanh_divisor;  // see kTanhDivisor32
};

// q: degree 4 on +-0.34668: 2^-28.
constexpr double kExpTail32[] = {0.49999994, 0.166665211, 0.041668389,
                                 0.00836873055, 0.00138145592};
// Degree 9: 2^-57.
constexpr double kExpTail64[] = {0.50000000000000111,    0.16666666666666413,
                                 0.041666666666529954,   0.0083333333334947648,
                                 0.0013888888943691671,  0.00019841269506044718,
                                 2.4801493027890993e-05, 2.7557586732623429e-06,
                                 2.7630275988532642e-07, 2.499998744391905e-08};
// Degree 5 on +-0.5: 2^-28.
constexpr double kExp2Tail32[] = {0.693147182,   0.240226477,  0.0555033237,
                                  0.00961843785, 0.0013398875, 0.000153533387};
// Degree 10: 2^-58.
constexpr double kExp2Tail64[] = {
    0.69314718055994529,    0.2402265069591013,     0.055504108664820084,
    0.0096181291075941103,  0.001333355814677461,   0.00015403530457124096,
    1.525273349309952e-05,  1.3215435276281181e-06, 1.0178199591281019e-07,
    7.0737842878658908e-09, 4.4347677777325335e-10};
// tanh where it is 1 - 1 / half: (half of e^2r - 1) / r on +-ln2 / 4, minimax
// for the absolute error of tanh; degree 4: 2^-26.
constexpr double kTanhSlope32[] = {0.999999881, 0.999983013, 0.666689038,
                                   0.335182577, 0.13298893};
// x^3 / (x - tanh(x)) in x^2 on [0, 1], for the relative error of tanh;
// degree 3: 2^-29.
constexpr double kTanhDivisor32[] = {3.00000072, 1.19999325, -0.00569276512,
                                     0.00022696922};
// (log(1 + t) - t) / t^2; degree 8 on [0, 1]: 2^-27, and less near 1.
constexpr double kLog1pTail32[] = {-0.499999106,  0.333297789,  -0.249500766,
                                   0.196478948,   -0.152096927, 0.104216583,
                                   -0.0550091788, 0.0187465474, -0.00298670866};
// Degree 10: 2^-60.
constexpr double kTanhSlope64[] = {
    1.0000000000000000,     1.0000000000000022,    0.66666666666665408,
    0.33333333333221965,    0.1333333333358416,    0.044444444621583701,
    0.012698412504238549,   0.0031745910453881902, 0.00070547333908576454,
    0.00014146777082790806, 2.5611667344704646e-05};
// Degree 8: 2^-61.
constexpr double kTanhDivisor64[] = {
    3.0000000000000004,      1.1999999999999749,      -0.0057142857139262683,
    0.00025396825146314179,  -1.2203659489275244e-05, 5.9874289250274543e-07,
    -2.9530765653534652e-08, 1.4322061378653044e-09,  -5.7030886204570448e-11};

const ExpConstants& ExpConstantsOf(DType dtype) {
  static constexpr ExpConstants kF32 = {.log2e = 1.44269502,
                                        .ln2_hi = 0x1.62e4p-1,
                                        .ln2_lo = 1.42860677e-06,
                                        .exp_least = -104,
                                        .exp_end = 0x1.62e43p+6,
                                        .exp2_least = -150,
                                        .exp2_end = 128,
                                        .tanh_most = 10,
                                        .sigmoid_most = 18,
                                        .sigmoid_least = -87,
                                        .silu_least = -110,
                                        .silu_shift = 48,
                                        .exp_tail = kExpTail32,
                                        .exp2_tail = kExp2Tail32,
                                        .tanh_slope = kTanhSlope32,
                                        .tanh_divisor = kTanhDivisor32};
  static constexpr ExpConstants kF64 = {.log2e = 0x1.71547652b82fep+0,
                                        .ln2_hi = 0x1.62e42feep-1,
                                        .ln2_lo = 0x1.a39ef35793c76p-33,
                                        .exp_least = -746,
                                        .exp_end = 0x1.62e42fefa39fp+9,
                                        .exp2_least = -1075,
                                        .exp2_end = 1024,
                                        .tanh_most = 20,
                                        .sigmoid_most = 38,
                                        .sigmoid_least = -708,
                                        .silu_least = -752,
                                        .silu_shift = 80,
                                        .exp_tail = kExpTail64,
                                        .exp2_tail = kExp2Tail64,
                                        .tanh_slope = kTanhSlope64,
                                        .tanh_divisor = kTanhDivisor64};
  return dtype == DType::kF32 ? kF32 : kF64;
}

// k x = n ln2 + k r; the low bits of `word` are n + offset.
struct Reduction {
  Expr word;
  Expr r;
};

// k is 1 or -1.
Reduction Reduce(Expr x, int k, int offset) {
  const FloatFormat& format = FormatOf(x.dtype());
  const ExpConstants& constants = ExpConstantsOf(x.dtype());
  Expr shifted = Fma(x, k * constants.log2e, format.rounder + offset);
  Expr n = shifted - (format.rounder + offset);
  Expr r = Fma(n, -k * constants.ln2_lo, Fma(n, -k * constants.ln2_hi, x));
  return {.word = Bitcast(shifted, format.word), .r = r};
}

// (e^(k r) - 1) / r, with k as above.
Expr Slope(Expr r, int k) {
  std::vector<double> tail;
  double factor = k;
  for (double c : ExpConstantsOf(r.dtype()).exp_tail) {
    tail.push_back(c * (factor *= k));
  }
  return Fma(Polynomial(r, tail), r, k);
}

// `y` where `is_finite`; elsewhere infinity, or x if that is a NaN.
Expr WithOverflow(Expr is_finite, Expr x, Expr y) {
  return Select(is_finite, y, Max(std::numeric_limits<double>::infinity(), x));
}

// x = n + r; the low bits of `word` are n. Of no meaning if 2^x overflows.
Reduction ReduceExp2(Expr x) {
  const FloatFormat& format = FormatOf(x.dtype());
  x = Max(ExpConstantsOf(x.dtype()).exp2_least, x);
  Expr shifted = x + format.rounder;
  return {.word = Bitcast(shifted, format.word),
          .r = x - (shifted - format.rounder)};
}

// 2^r for |r| <= 1 / 2
Expr PowerOfRest(Expr r) {
  Expr slope = Polynomial(r, ExpConstantsOf(r.dtype()).exp2_tail);
  return Fma(slope, r, 1);
}

// 2^-shift (1 + e^-x), finite and normal, as a sum and what it lost.
Pair LogisticSum(Expr x, int shift) {
  const double scale = std::ldexp(1, -shift);
  Reduction reduction = Reduce(x, -1, FormatOf(x.dtype()).bias - shift);
  Expr power = PowerOfTwo(reduction.word, x.dtype());
  Expr slope = power * Slope(reduction.r, -1);
  Expr sum = Fma(slope, reduction.r, power + scale);
  return {.hi = sum, .lo = Fma(slope, reduction.r, (power - sum) + scale)};
}

}  // namespace

Expr ExpValue(Expr x) {
  const ExpConstants& constants = ExpConstantsOf(x.dtype());
  Reduction reduction = Reduce(Max(constants.exp_least, x), 1, 0);
  Expr y = Fma(Slope(reduction.r, 1), reduction.r, 1);
  return WithOverflow(x < constants.exp_end, x,
                      TimesPowerOfTwo(y, reduction.word));
}

PairReduction ReduceExp(Pair x, int shift) {
  const DType dtype = x.hi.dtype();
  const FloatFormat& format = FormatOf(dtype);
  const ExpConstants& constants = ExpConstantsOf(dtype);
  const double offset = format.rounder + (format.bias + shift);
  Expr shifted = Fma(x.hi, constants.log2e, offset);
  Expr n = shifted - offset;
  return {.power = PowerOfTwo(Bitcast(shifted, format.word), dtype),
          .r = FastTwoSum(Fma(n, -constants.ln2_hi, x.hi),
                          Fma(n, -constants.ln2_lo, x.lo))};
}

ScaledExp ExpOfPair(Pair x, int shift) {
  auto [power, r] = ReduceExp(x, shift);
  Expr tail = Polynomial(r.hi, ExpConstantsOf(r.hi.dtype()).exp_tail);
  return {.power = power, .r = r.hi, .rest = Fma(r.hi * r.hi, tail, r.lo)};
}

// At exp2_end, x.lo decides whether the power is finite.
Expr Exp2OfPair(Pair x) {
  const double end = ExpConstantsOf(x.hi.dtype()).exp2_end;
  Expr hi = Min(end, x.hi);
  Reduction reduction = ReduceExp2(hi);
  Expr y = PowerOfRest(reduction.r + x.lo);
  return WithOverflow((hi < end) | (y < 1), hi,
                      TimesPowerOfTwo(y, reduction.word));
}

Expr Exp2Value(Expr x) {
  Reduction reduction = ReduceExp2(x);
  return WithOverflow(
      x < ExpConstantsOf(x.dtype()).exp2_end, x,
      TimesPowerOfTwo(PowerOfRest(reduction.r), reduction.word));
}

// b - b^3 / d for b = min(|x|, 1). Below 1, d is a polynomial in x^2; from 1 on
// it is (e^2x + 1) / 2. The two are equal at 1, and d is the greater of them.
Expr TanhValue(Expr x) {
  const FloatFormat& format = FormatOf(x.dtype());
  const ExpConstants& constants = ExpConstantsOf(x.dtype());
  const double offset = format.rounder + format.bias;
  Expr magnitude = Abs(x);
  Expr a = Min(constants.tanh_most, magnitude);
  // 2a = n ln2 + 2r, where n is so small that one part of ln2 suffices.
  Expr shifted = Fma(a, 2 * constants.log2e, offset);
  const double half_ln2 = (constants.ln2_hi + constants.ln2_lo) / 2;
  Expr r = Fma(shifted - offset, -half_ln2, a);
  Expr power = PowerOfTwo(Bitcast(shifted, format.word), x.dtype());
  Expr slope = Polynomial(r, constants.tanh_slope);
  Expr half = Fma(Fma(slope, r, 0.5), power, 0.5);
  Expr b = Min(1, magnitude);
  // The summand changes no digit of tanh, but keeps most cubes normal.
  Expr square = Fma(b, b, std::ldexp(1, -2 * format.fraction_bits));
  Expr divisor = Max(Polynomial(square, constants.tanh_divisor), half);
  return WithSign(b - b * square / divisor, x);
}

// 1 / (1 + e^-x), the quotient corrected by what the sum lost, or e^x.
Expr SigmoidValue(Expr x) {
  const ExpConstants& constants = ExpConstantsOf(x.dtype());
  auto [sum, lost] = LogisticSum(Min(constants.sigmoid_most, x), 0);
  Expr inverse = 1 / sum;
  Expr y = Fma(inverse, -(inverse * lost), inverse);
  return Select(x < constants.sigmoid_least, ExpValue(x), y);
}

// x / (1 + e^-x): x times a rounded reciprocal, corrected by what is left over
// of x when that is multiplied back.
Expr SiluValue(Expr x) {
  const ExpConstants& constants = ExpConstantsOf(x.dtype());
  const int shift = constants.silu_shift;
  Expr least = Max(constants.silu_least, x);
  auto [sum, lost] = LogisticSum(least, shift);
  Expr a = Abs(least);
  Expr inverse = 1 / sum;
  Expr y = inverse * a;
  Expr rest = Fma(-y, lost, Fma(-y, sum, a));
  y = TimesPowerOfTwo(Fma(rest, inverse, y), -shift);
  return Select(x < constants.sigmoid_most, WithSign(y, x), x);
}

// max(x, 0) + log(1 + t) for t = e^-|x|, of which the logarithm is
// t + t^2 p(t), or t alone far below 0. With t = 2^n + rest, rest is added
// first, and 2^n last: both sums then lose little.
Expr SoftplusValue(Expr x) {
  if (x.dtype() != DType::kF32) return Max(0, x) + Log1p(Exp(-Abs(x)));
  constexpr double kEnd = 43;  // the square of e^-43 is normal
  auto [word, r] = Reduce(Min(kEnd, Abs(x)), -1, FormatOf(x.dtype()).bias);
  Expr power = PowerOfTwo(word, x.dtype());
  Expr slope = power * Slope(r, -1);
  Expr t = Fma(slope, r, power);
  Expr near = Fma(slope, r, Max(0, x));
  Expr y = Fma(t * t, Polynomial(t, kLog1pTail32), near) + power;
  return Select(x < -kEnd, ExpValue(x), y);
}

}  // namespace ocannl
