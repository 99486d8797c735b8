// SPDX-License-Identifier: Apache-2.0
//
// log, log1p, log10 and log2.
//
// x = 2^e (1 + r) with 1 + r in [sqrt(1/2), sqrt(2)), and log(1 + r) = r + r^2
// q(r) with a polynomial q, minimax for the relative error of log(1 + r);
// "2^-27" beside the coefficients is that error.
#include <cmath>
#include <limits>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

// Degree 8: 2^-27.
constexpr double kLogTail32[] = {-0.499999881, 0.333333254,  -0.250015825,
                                 0.200019747,  -0.166090786, 0.141817987,
                                 -0.132430002, 0.129046246,  -0.0762199163};
// Degree 19: 2^-56.
constexpr double kLogTail64[] = {
    -0.50000000000000033,  0.33333333333333026,   -0.2499999999997492,
    0.20000000000085294,   -0.16666666671356048,  0.14285714279615877,
    -0.12499999604444897,  0.11111111098981109,   -0.10000017941474057,
    0.090909274505723392,  -0.083328640225181758, 0.076914329130021289,
    -0.071499382561331482, 0.066859378969589239,  -0.061943623606075832,
    0.056589473482390115,  -0.056780936574159654, 0.065295920174290742,
    -0.060062343125723207, 0.026174755586502223};
// Degree 9: 2^-29.
constexpr double kLog2Tail32[] = {
    -0.721347511, 0.480898023,  -0.360674143, 0.28857103,   -0.240463927,
    0.205117658,  -0.178999707, 0.171694994,  -0.168452471, 0.0970244482};
// Degree 20: 2^-58.
constexpr double kLog2Tail64[] = {
    -0.72134752044448169, 0.48089834696299005,   -0.36067376022221309,
    0.28853900817687728,  -0.24044917348640416,  0.2060992916867638,
    -0.1803368797839357,  0.16029943967781152,   -0.14426951131323396,
    0.13115446856786198,  -0.12022474935983161,  0.11096759445508758,
    -0.10303715908347974, 0.096306121462211722,  -0.090458718345835118,
    0.083909929795012869, -0.076806789769891942, 0.078184014929589665,
    -0.09067352336990972, 0.082224998285587908,  -0.03496167424687021};

// 2 / ln2 and a third of it.
constexpr double kScaleHi = 0x1.71547652b82fep+1;
constexpr double kScaleLo = 0x1.777d0ffda0d24p-55;
constexpr double kThirdHi = 0x1.ec709dc3a03fdp-1;
constexpr double kThirdLo = 0x1.d27f05548af0cp-55;
// 2 / ln2 * (atanh(s) / s - 1 - s^2 / 3) / s^4 in s^2 for |s| < 0.1716, degree
// 6, relative to 2 / ln2: 2^-66.
constexpr double kAtanhTail[] = {0.57707801635561795, 0.41219858309195517,
                                 0.32059890227088661, 0.26230770135609949,
                                 0.22198398731126115, 0.19125540015244111,
                                 0.1903832440634986};

struct Parts {
  Expr exponent;  // e, of the float type
  Expr r;
};

// Of a number that is not denormal.
Parts SplitNormal(Expr x) {
  const FloatFormat& format = FormatOf(x.dtype());
  Expr word = Bitcast(x, format.word);
  Expr half_root = Bitcast(LiteralLike(x, std::sqrt(0.5)), format.word);
  Expr exponent = (word - half_root) >> format.fraction_bits;
  Expr mantissa = Bitcast(word - (exponent << format.fraction_bits), x.dtype());
  return {.exponent = Convert(exponent, x.dtype()), .r = mantissa - 1};
}

Parts Split(Expr x) {
  const FloatFormat& format = FormatOf(x.dtype());
  Expr denormal = x < format.least_normal;
  Expr normal = Select(denormal, x * std::ldexp(1, format.fraction_bits), x);
  auto [exponent, r] = SplitNormal(normal);
  Expr correction = Select(denormal, LiteralLike(x, -format.fraction_bits), 0);
  return {.exponent = exponent + correction, .r = r};
}

// `y`, the logarithm of a positive finite x, or what Annex F of C says.
Expr WithSpecialValues(Expr x, Expr y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Expr not_positive = Select(Equal(x, 0), LiteralLike(x, -kInfinity), kNan);
  return Select(0 < x, Select(x < kInfinity, y, x), not_positive);
}

// Whether x is not a positive normal number. The words of these come one after
// the other: less that of -least_normal, they are the least integers.
Expr IsSpecial(Expr x) {
  const FloatFormat& format = FormatOf(x.dtype());
  const double half_of_greatest =
      std::ldexp(1 - std::ldexp(1, -format.fraction_bits - 1), format.bias);
  auto word = [&](Expr a) { return Bitcast(a, format.word); };
  return word(LiteralLike(x, -half_of_greatest)) <
         word(x) - word(LiteralLike(x, -format.least_normal));
}

// ln2 in two parts: exponent * hi is exact.
struct Ln2 {
  double hi;
  double lo;
};

Ln2 Ln2For(Expr x) {
  if (x.dtype() == DType::kF32) return {0x1.62e4p-1, 1.42860677e-06};
  return {0x1.62e42feep-1, 0x1.a39ef35793c76p-33};
}

// log(2^e (1 + r)) + c - e ln2.lo for a small c.
Expr LogOfParts(Parts parts, Expr c) {
  auto [e, r] = parts;
  const bool is_f32 = r.dtype() == DType::kF32;
  Expr q = is_f32 ? Polynomial(r, kLogTail32) : Polynomial(r, kLogTail64);
  return Fma(e, Ln2For(r).hi, r + Fma(r * r, q, c));
}

}  // namespace

Expr LogValue(Expr x) {
  auto log = [&](const Parts& parts) {
    return LogOfParts(parts, parts.exponent * Ln2For(x).lo);
  };
  return Select(IsSpecial(x), WithSpecialValues(x, log(Split(x))),
                log(SplitNormal(x)));
}

// log(sum) + lost / sum, where sum is 1 + x but for what rounding lost.
Expr Log1pValue(Expr x) {
  Expr sum = 1 + x;
  Expr lost = x - (sum - 1);
  Parts parts = Split(sum);
  Expr y = LogOfParts(parts, Fma(parts.exponent, Ln2For(x).lo, lost / sum));
  return Select(Equal(x, 0), x, WithSpecialValues(sum, y));
}

Expr LogOfPair(Pair x, int shift) {
  auto [exponent, r] = SplitNormal(x.hi);
  Expr e = exponent + shift;
  Expr rest = x.lo * RoughRecip(x.hi);
  return LogOfParts({.exponent = e, .r = r}, Fma(e, Ln2For(r).lo, rest));
}

// (r + r^2 q(r)) / ln10 + e log10(2), where both constants have two parts.
Expr Log10Value(Expr x) {
  const bool is_f32 = x.dtype() == DType::kF32;
  const double recip = is_f32 ? 0x1.bcb7b2p-2 : 0x1.bcb7b1526e50ep-2;
  const double recip_lo = is_f32 ? -0x1.5b235ep-27 : 0x1.95355baaafad3p-57;
  // Of few bits: e * hi is exact.
  const double hi = is_f32 ? 0x1.344p-2 : 0x1.34413509f78p-2;
  const double lo = is_f32 ? 0x1.3509f8p-18 : 0x1.fef311f12b358p-46;
  auto [e, r] = Split(x);
  Expr q = is_f32 ? Polynomial(r, kLogTail32) : Polynomial(r, kLogTail64);
  Expr tail = Fma(r * r, q * recip, Fma(r, recip_lo, e * lo));
  return WithSpecialValues(x, Fma(e, hi, Fma(r, recip, tail)));
}

Expr Log2Value(Expr x) {
  const bool is_f32 = x.dtype() == DType::kF32;
  // 1 / ln2 in two parts.
  const double hi = is_f32 ? 0x1.715476p+0 : 0x1.71547652b82fep+0;
  const double lo = is_f32 ? 0x1.4ae0cp-26 : 0x1.777d0ffda0d24p-56;
  auto [e, r] = Split(x);
  Expr q = is_f32 ? Polynomial(r, kLog2Tail32) : Polynomial(r, kLog2Tail64);
  Expr tail = Fma(r * r, q, r * lo);
  return WithSpecialValues(x, e + Fma(r, hi, tail));
}

// With s = r / (2 + r): log(1 + r) = 2 atanh(s) = 2 s (1 + s^2 / 3 + ...).
Pair Log2AsPair(Expr x) {
  auto [e, r] = Split(x);
  Pair divisor = FastTwoSum(LiteralLike(r, 2), r);
  Expr s = r / divisor.hi;
  Expr residue = Fma(-s, divisor.lo, Fma(-s, divisor.hi, r));
  Expr s_lo = residue / divisor.hi;
  Pair square = TwoProduct(s, s);
  Expr square_lo = Fma(s + s, s_lo, square.lo);
  // third = (2 / ln2) (1 / 3 + s^2 / 5 + ...)
  Pair third = FastTwoSum(LiteralLike(s, kThirdHi),
                          square.hi * Polynomial(square.hi, kAtanhTail));
  Pair tail = TwoProduct(square.hi, third.hi);
  Expr tail_lo =
      Fma(square.hi, third.lo + kThirdLo, Fma(square_lo, third.hi, tail.lo));
  Pair slope = FastTwoSum(LiteralLike(s, kScaleHi), tail.hi);
  Expr slope_lo = slope.lo + (tail_lo + kScaleLo);
  Pair log = TwoProduct(s, slope.hi);
  Expr log_lo = Fma(s, slope_lo, Fma(s_lo, slope.hi, log.lo));
  Pair sum = FastTwoSum(e, log.hi);
  return {.hi = WithSpecialValues(x, sum.hi), .lo = sum.lo + log_lo};
}

}  // namespace ocannl
