// SPDX-License-Identifier: Apache-2.0
//
// gelu: x times the probability that a normal number is less than x; gelu_tanh:
// x times the logistic function of a cubic polynomial, which is near to that.
//
// Both are max(x, 0) - a e^z / d for a = |x| and z <= 0: what is left of x far
// below 0 keeps all its digits. z, which is large there, and d are pairs; a / d
// is corrected by what the quotient lost; e^z is multiplied in last.
#include <cmath>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

constexpr double kDensityAt0 = 0.39894228040143268;  // 1 / sqrt(2 pi)
constexpr double kSqrtTwoPi = 2.5066282746310005;
// The polynomial is x (kLinear + kCubic x^2).
constexpr double kLinear = 1.5957691216057308;  // 2 sqrt(2 / pi)
constexpr double kCubic = 0.044715 * kLinear;

// The probability that a normal number is beyond a is e^(-a^2/2) / d with
// d = 2 + a (sqrt(2 pi) + top(a) / bottom(a)): d is near to sqrt(2 pi) a for
// large a. The quotient is minimax for the relative error of d.
// Degrees 4 and 5: 2^-30.
constexpr double kTop32[] = {-1.7222371101379395, -1.2845135927200317,
                             -0.4608311057090759, -0.08834261447191238,
                             -0.0077824159525334835};
constexpr double kBottom32[] = {1.8907830715179443,   1.9774199724197388,
                                0.9995801448822021,   0.2918021082878113,
                                0.049051716923713684, 0.003891145344823599};
// Degrees 9 and 10: 2^-58.
constexpr double kTop64[] = {-1.5776413564061191,     -2.1661691273637276,
                             -1.47799884293995,       -0.644047173388357,
                             -0.19560255574824528,    -0.042748521874840656,
                             -0.006718604381058404,   -0.0007342687893612756,
                             -5.0980435917564296e-05, -1.7363882148981368e-06};
constexpr double kBottom64[] = {
    1.7320365625862593,    2.8977367142032624,    2.4007307493426486,
    1.2738287428294655,    0.4750822566361878,    0.12957526843849182,
    0.026144190731216547,  0.0038590098274979235, 0.00040044540142913785,
    2.657833790649059e-05, 8.681941074543319e-07};

struct GeluConstants {
  // At these |x| nothing is left of x far below 0, and 2^shift e^z is made 0
  // there, so that what is multiplied by it does not underflow.
  double end;
  double tanh_end;
  int shift, tanh_shift;
  absl::Span<const double> top, bottom;
  // -kLinear and -kCubic in two parts. Sums with the upper part of the first,
  // which has few digits, lose no digits of it.
  double linear_hi, linear_lo, cubic_hi, cubic_lo;
};

const GeluConstants& GeluConstantsOf(DType dtype) {
  static constexpr GeluConstants kF32 = {.end = 14.43,
                                         .tanh_end = 10.79,
                                         .shift = 23,
                                         .tanh_shift = 27,
                                         .top = kTop32,
                                         .bottom = kBottom32,
                                         .linear_hi = -0x1.98845p+0,
                                         .linear_lo = -0x1.9ea1b2p-23,
                                         .cubic_hi = -0x1.2444f2p-4,
                                         .cubic_lo = -0x1.49b16ap-29};
  static constexpr GeluConstants kF64 = {.end = 39,
                                         .tanh_end = 22,
                                         .shift = 256,
                                         .tanh_shift = 256,
                                         .top = kTop64,
                                         .bottom = kBottom64,
                                         .linear_hi = -0x1.9884533d4366p+0,
                                         .linear_lo = 0x1.ee5e069875fe9p-49,
                                         .cubic_hi = -0x1.2444f2a4d8b4bp-4,
                                         .cubic_lo = 0x1.6c843a29d1c7p-61};
  return dtype == DType::kF32 ? kF32 : kF64;
}

// max(x, 0) - unit a e^z / d, with the sign of x. `power` is e^z.
Expr WithoutTail(Expr x, Expr a, Pair d, const ScaledExp& power, double unit) {
  Expr inverse = -1 / d.hi;
  Expr ratio = a * inverse;
  Expr lost = Fma(ratio, d.lo, Fma(ratio, d.hi, a)) * inverse;
  Expr tail = ratio + Fma(ratio, power.r, Fma(ratio, power.rest, lost));
  return Fma(tail * power.power, unit, Max(-0.0, x));
}

// d of the normal distribution.
Pair NormalDivisor(Expr a) {
  const GeluConstants& constants = GeluConstantsOf(a.dtype());
  Expr quotient =
      Polynomial(a, constants.top) / Polynomial(a, constants.bottom);
  Pair slope = FastTwoSum(LiteralLike(a, kSqrtTwoPi), quotient);
  Expr d = Fma(a, slope.hi, 2);
  return {.hi = d, .lo = Fma(a, slope.lo, Fma(a, slope.hi, 2 - d))};
}

// -a (kLinear + kCubic a^2)
Pair LogisticExponent(Expr a) {
  const GeluConstants& c = GeluConstantsOf(a.dtype());
  Pair square = TwoProduct(a, a);
  Expr hi = Fma(square.hi, c.cubic_hi, c.linear_hi);
  Expr small =
      Fma(square.lo, c.cubic_hi, Fma(square.hi, c.cubic_lo, c.linear_lo));
  Expr lo = Fma(square.hi, c.cubic_hi, c.linear_hi - hi) + small;
  Pair product = TwoProduct(a, hi);
  return {.hi = product.hi, .lo = Fma(a, lo, product.lo)};
}

// value / x for the value of a gelu at x, which is half of x around 0.
Expr Probability(Expr value, Expr x) {
  constexpr double kTiny = 1e-30;
  return Select(Abs(x) < kTiny, LiteralLike(x, 0.5), value / x);
}

// Beyond, the slopes are 0 and 1, and inf * 0 would be no number.
Expr Clamped(Expr x) {
  constexpr double kEnd = 40;
  return Min(kEnd, Max(-kEnd, x));
}

}  // namespace

Expr GeluValue(Expr x) {
  const GeluConstants& constants = GeluConstantsOf(x.dtype());
  Expr a = Min(constants.end, Abs(x));
  ScaledExp power = ExpOfPair(TwoProduct(a, a * -0.5), constants.shift);
  return WithoutTail(x, a, NormalDivisor(a), power,
                     std::ldexp(1, -constants.shift));
}

Expr GeluSlope(Expr x) {
  Expr inside = Clamped(x);
  Expr density = kDensityAt0 * Exp(-0.5 * (inside * inside));
  return Probability(Gelu(inside), inside) + inside * density;
}

Expr GeluTanhValue(Expr x) {
  const GeluConstants& constants = GeluConstantsOf(x.dtype());
  Expr a = Min(constants.tanh_end, Abs(x));
  ScaledExp power = ExpOfPair(LogisticExponent(a), constants.tanh_shift);
  // d = kScale (1 + e^z): a / d is not denormal.
  constexpr double kScale = 0x1p-32;
  const double unit = kScale * std::ldexp(1, -constants.tanh_shift);
  // Less than 2^-80 is lost beside 1, and would be denormal.
  Expr leading =
      Max(std::ldexp(1, constants.tanh_shift - 80), power.power) * unit;
  Expr rest = power.r + power.rest;
  Pair sum = FastTwoSum(LiteralLike(x, kScale), leading);
  Expr d = Fma(leading, rest, sum.hi);
  Expr lost = Fma(leading, rest, sum.hi - d) + sum.lo;
  return WithoutTail(x, a, {.hi = d, .lo = lost}, power, unit);
}

Expr GeluTanhSlope(Expr x) {
  Expr inside = Clamped(x);
  Expr p = Probability(GeluTanh(inside), inside);
  Expr slope = kLinear + 3 * kCubic * (inside * inside);
  return p + inside * (p * (1 - p) * slope);
}

}  // namespace ocannl
