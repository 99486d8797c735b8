// SPDX-License-Identifier: Apache-2.0
//
// expm1, sinh, cosh, and the inverse hyperbolic functions.
//
// x = n ln2 + r as for exp, with r in two parts. With A = 2^n / 2 and
// B = 2^-n / 2, sinh(x) = (A - B) cosh(r) + (A + B) sinh(r), and cosh(x) with
// the brackets exchanged: r has no digits to lose, and there is no division.
//
// The inverses are minimax polynomials near 0, or near 1 for acosh, and
// log(x + sqrt(x^2 +- 1)) beyond, of a sum in two parts. atanh(x) takes out a
// power of two P = 2^e near to q = (1 + x) / (1 - x), of which it is half of
// the logarithm: e ln2 / 2 + atanh((q - P) / (q + P)).
//
// Polynomials are minimax for the relative error of the function, which is what
// "2^-31" beside the coefficients says: found by Remez's exchange on a grid, in
// 60 digits, then rounded.
#include <cmath>
#include <limits>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

struct HyperbolicConstants {
  double expm1_least;  // expm1 of less is -1,
  double expm1_most;   // of more infinity,
  double sinh_most;    // and so sinh and cosh.
  double tiny;         // expm1 and sinh of less are the number itself.
  double large;        // sqrt(x^2 +- 1) of more is x.
  double half_ln2_hi;  // few bits
  double half_ln2_lo;
  absl::Span<const double> sinh_tail;   // (sinh(x) / x - 1) / x^2 in x^2,
  absl::Span<const double> asinh_tail;  // and so for asinh
  absl::Span<const double> atanh_tail;  // and atanh.
  absl::Span<const double> cosh_tail;   // (cosh(x) - 1 - x^2 / 2) / x^4 in x^2
  absl::Span<const double> acosh_tail;  // (acosh(1 + t) / sqrt(2 t) - 1) / t
};

// On +-0.3467: 2^-31 and 2^-60.
constexpr double kSinhTail32[] = {0.166666672, 0.00833328906, 0.000199049187};
constexpr double kSinhTail64[] = {
    0.16666666666666666,    0.0083333333333333367,  0.00019841269841253234,
    2.7557319265152308e-06, 2.5052056812864055e-08, 1.6090815231476007e-10};
// 2^-30 and 2^-65.
constexpr double kCoshTail32[] = {0.0416662656, 0.0013946261};
constexpr double kCoshTail64[] = {
    0.041666666666666713, 0.0013888888888863879, 2.4801587363503797e-05,
    2.7557241734405981e-07, 2.0924453299055879e-09};
// On +-0.5: 2^-29 and 2^-60.
constexpr double kAsinhTail32[] = {-0.166666433, 0.0749865249, -0.0443845205,
                                   0.0281691365, -0.0132375434};
constexpr double kAsinhTail64[] = {
    -0.1666666666666661,   0.074999999999844164,   -0.044642857127831517,
    0.030381943716394633,  -0.022372138358350269,  0.017352386958505415,
    -0.0139602323101737,   0.011512984523220526,   -0.0095341445407957481,
    0.0074656045922864732, -0.0047475179622821365, 0.0017180859930743739};
// On [0, 0.5]: 2^-28 and 2^-58.
constexpr double kAcoshTail32[] = {-0.0833332166, 0.0187466592, -0.00554823363,
                                   0.00176097197, -0.00041400225};
constexpr double kAcoshTail64[] = {
    -0.083333333333333051,   0.018749999999961551,    -0.0055803571409994363,
    0.0018988714826869073,   -0.00069912932851688139, 0.00027113108164296244,
    -0.00010906448545564779, 4.4973141827052162e-05,  -1.8622528317218016e-05,
    7.2921690270245595e-06,  -2.3193042595412543e-06, 4.198500852801403e-07};
// On +-0.284: 2^-30 and 2^-58.
constexpr double kAtanhTail32[] = {0.333333015, 0.200038448, 0.141445085,
                                   0.131173983};
constexpr double kAtanhTail64[] = {
    0.33333333333333598,  0.19999999999869544,  0.14285714307907674,
    0.11111109263100925,  0.090909959220673714, 0.076898535377348809,
    0.067090982381782585, 0.054464508881459442, 0.076517308460165107};

const HyperbolicConstants& HyperbolicConstantsOf(DType dtype) {
  static constexpr HyperbolicConstants kF32 = {.expm1_least = -18,
                                               .expm1_most = 89,
                                               .sinh_most = 90,
                                               .tiny = 0x1p-25,
                                               .large = 0x1p+13,
                                               .half_ln2_hi = 0x1.62e4p-2,
                                               .half_ln2_lo = 7.14303385e-07,
                                               .sinh_tail = kSinhTail32,
                                               .asinh_tail = kAsinhTail32,
                                               .atanh_tail = kAtanhTail32,
                                               .cosh_tail = kCoshTail32,
                                               .acosh_tail = kAcoshTail32};
  static constexpr HyperbolicConstants kF64 = {
      .expm1_least = -38,
      .expm1_most = 710,
      .sinh_most = 711,
      .tiny = 0x1p-54,
      .large = 0x1p+28,
      .half_ln2_hi = 0x1.62e42feep-2,
      .half_ln2_lo = 0x1.a39ef35793c76p-34,
      .sinh_tail = kSinhTail64,
      .asinh_tail = kAsinhTail64,
      .atanh_tail = kAtanhTail64,
      .cosh_tail = kCoshTail64,
      .acosh_tail = kAcoshTail64};
  return dtype == DType::kF32 ? kF32 : kF64;
}

// x + x^3 p(x^2)
Expr Odd(Expr x, absl::Span<const double> p) {
  Expr square = x * x;
  return Fma(x * square, Polynomial(square, p), x);
}

// x = n ln2 + r, as parts of e^x.
struct ExpParts {
  Expr power;  // 2^(n + shift)
  Expr r;
  Expr sinh_rest;  // sinh(r) - r, and what r lacks
  Expr square;     // r^2
  Expr cosh_rest;  // cosh(r) - 1 - r^2 / 2
};

ExpParts ExpPartsOf(Expr x, int shift) {
  const HyperbolicConstants& constants = HyperbolicConstantsOf(x.dtype());
  auto [power, r] = ReduceExp({.hi = x, .lo = LiteralLike(x, 0)}, shift);
  Expr square = r.hi * r.hi;
  Expr sinh = Polynomial(square, constants.sinh_tail);
  return {
      .power = power,
      .r = r.hi,
      .sinh_rest = Fma(r.hi * square, sinh, r.lo),
      .square = square,
      .cosh_rest = square * square * Polynomial(square, constants.cosh_tail)};
}

// (A + sign B) cosh(r) + (A - sign B) sinh(r) for x >= 0.
Expr SumOfPowers(Expr x, int sign) {
  const FloatFormat& format = FormatOf(x.dtype());
  // A and B are divided by 4: nothing is infinite before its time.
  constexpr int kShift = -3;
  const ExpParts parts =
      ExpPartsOf(Min(HyperbolicConstantsOf(x.dtype()).sinh_most, x), kShift);
  const double both =
      std::ldexp(2 * (format.bias + kShift), format.fraction_bits);
  Expr word = both - Bitcast(parts.power, format.word);
  Expr down = Bitcast(Max(word, 0), x.dtype());  // 0 for denormal ones
  if (sign < 0) down = -down;
  Pair with_cosh = FastTwoSum(parts.power, down);
  Expr with_sinh = parts.power - down;
  // The product with r keeps what rounding loses.
  Expr lead = Fma(with_sinh, parts.r, with_cosh.hi);
  Expr lost = Fma(with_sinh, parts.r, with_cosh.hi - lead) + with_cosh.lo;
  Expr cosh_rest = Fma(parts.square, 0.5, parts.cosh_rest);
  Expr rest = Fma(with_cosh.hi, cosh_rest, with_sinh * parts.sinh_rest);
  return 4 * (lead + (lost + rest));
}

// log(x + root), of which the second is the lesser one for acosh.
Expr LogOfSum(Expr x, Expr greater, Expr lesser, Expr rest) {
  const double large = HyperbolicConstantsOf(x.dtype()).large;
  // An eighth of the sum, of which there is a rough reciprocal.
  Pair sum = FastTwoSum(greater * 0.125, lesser * 0.125);
  Expr is_large = large < x;
  Expr hi = Select(is_large, x * 0.25, sum.hi);
  Expr lo = Select(is_large, 0, Fma(rest, 0.125, sum.lo));
  return LogOfPair({.hi = hi, .lo = lo}, 3);
}

// `y`, but a itself where that is infinite or no number.
Expr Finite(Expr a, Expr y) {
  return Select(a < std::numeric_limits<double>::infinity(), y, a);
}

}  // namespace

// 2 ((2^n / 2 - 1 / 2) + 2^n / 2 (e^r - 1)), summed from the greatest on.
Expr Expm1Value(Expr x) {
  const HyperbolicConstants& constants = HyperbolicConstantsOf(x.dtype());
  Expr inside = Min(constants.expm1_most, Max(constants.expm1_least, x));
  auto [power, r, sinh_rest, square, cosh_rest] = ExpPartsOf(inside, -1);
  Expr less = power - 0.5;
  Expr lost = (power - less) - 0.5;
  Pair sum = FastTwoSum(less, power * r);
  Expr rest = Fma(power, sinh_rest + cosh_rest, sum.lo + lost);
  rest = Fma(power * 0.5, square, rest);
  return Select(Abs(x) < constants.tiny, x, 2 * (sum.hi + rest));
}

Expr SinhValue(Expr x) {
  Expr a = Abs(x);
  Expr y = SumOfPowers(a, -1);
  return WithSign(Select(a < HyperbolicConstantsOf(x.dtype()).tiny, a, y), x);
}

Expr CoshValue(Expr x) { return SumOfPowers(Abs(x), 1); }

Expr AsinhValue(Expr x) {
  Expr a = Abs(x);
  Expr hi = Fma(a, a, 1);
  Pair root = SqrtOfPair({.hi = hi, .lo = Fma(a, a, 1 - hi)});
  Expr log = LogOfSum(a, root.hi, a, root.lo);
  Expr near = Odd(a, HyperbolicConstantsOf(x.dtype()).asinh_tail);
  return WithSign(Select(a < 0.5, near, Finite(a, log)), x);
}

// With t = x - 1: x^2 - 1 = t^2 + 2 t.
Expr AcoshValue(Expr x) {
  Expr t = x - 1;
  Expr is_near = t < 0.5;
  Expr twice = t + t;
  Expr hi = Select(is_near, twice, Fma(t, t, twice));
  Expr lo = Select(is_near, 0, Fma(t, t, twice - hi));
  Pair root = SqrtOfPair({.hi = hi, .lo = lo});
  Expr log = LogOfSum(x, x, root.hi, root.lo);
  Expr p = Polynomial(t, HyperbolicConstantsOf(x.dtype()).acosh_tail);
  Expr near = root.hi + Fma(root.hi * t, p, root.lo);
  return Select(is_near, near, Finite(x, log));
}

// With a = |x|, d = 1 - a and k = P - 1, (q - P) / (q + P) is
// (2 a - k d) / (2 + k d).
Expr AtanhValue(Expr x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const FloatFormat& format = FormatOf(x.dtype());
  const HyperbolicConstants& constants = HyperbolicConstantsOf(x.dtype());
  Expr a = Abs(x);
  Expr d = 1 - a;
  Expr d_lo = (1 - d) - a;
  // Bits are near to binary logarithms: log2(q) - e is -0.34 to 0.84. A quarter
  // more keeps the quotient small, and e = 0 near 0, where z is a.
  Expr quarter =
      Bitcast(1 + a, format.word) + std::ldexp(0.25, format.fraction_bits);
  Expr e = (quarter - Bitcast(d, format.word)) >> format.fraction_bits;
  Expr k = PowerOfTwo(e + format.bias, x.dtype()) - 1;
  Expr top = Fma(-k, d_lo, Fma(-k, d, a + a));
  Expr bottom = Fma(k, d, 2);
  Expr z = top / bottom;
  Expr z_lo = Fma(-z, bottom, top) * RoughRecip(bottom);
  Expr exponent = Convert(e, x.dtype());
  Pair sum = FastTwoSum(exponent * constants.half_ln2_hi, z);
  Expr square = z * z;
  Expr rest = Fma(exponent, constants.half_ln2_lo, sum.lo + z_lo);
  Expr y =
      sum.hi + Fma(z * square, Polynomial(square, constants.atanh_tail), rest);
  Expr beyond = Select(Equal(a, 1), LiteralLike(x, kInfinity), kNan);
  return WithSign(Select(a < 1, y, beyond), x);
}

}  // namespace ocannl
