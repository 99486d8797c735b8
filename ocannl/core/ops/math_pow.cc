// SPDX-License-Identifier: Apache-2.0
//
// pow(x, y) = 2^(y log2 |x|), with the sign and the special values of C.
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

// log2(1 + r) / r for 1 + r in [sqrt(1/2), sqrt(2)), degree 15, minimax for the
// relative error: 2^-43.
constexpr double kLog2Slope[] = {
    1.442695040889047,    -0.721347520446803,   0.4808983468765991,
    -0.36067375933474527, 0.2885390223209004,   -0.24044927721156653,
    0.2060984592275624,   -0.18033135201244568, 0.16032086288168174,
    -0.1444225556547373,  0.130935759507261,    -0.11798109126243649,
    0.11069750398037012,  -0.1188728128089414,  0.11560355825305153,
    -0.057495413998735846};
// (2^r - 1) / r on +-0.5, degree 7, for the relative error of 2^r: 2^-40.
constexpr double kExp2Slope[] = {0.6931471805482099,    0.24022650698109774,
                                 0.05550410935272679,   0.009618128616241247,
                                 0.0013333454855396617, 0.0001540382540611394,
                                 1.530915740186262e-05, 1.3178942762692604e-06};

// The polynomial with the coefficients c, as one of even and one of odd powers:
// two chains of half the length, which overlap.
Expr InHalves(Expr x, absl::Span<const double> c) {
  std::vector<double> even, odd;
  for (size_t k = 0; k < c.size(); ++k)
    (k % 2 == 0 ? even : odd).push_back(c[k]);
  Expr square = x * x;
  return Fma(Polynomial(square, odd), x, Polynomial(square, even));
}

// log2(a) for a finite f64 a > 0 that is not denormal.
Expr Log2OfNormal(Expr a) {
  // The exponent, 2048 more so that it is positive, above the fraction of
  // a / sqrt(1/2).
  constexpr uint64_t kHalfRoot = 0x3fe6a09e667f3bcd;
  auto literal = [&](uint64_t bits) {
    return FromConstant(*a.pool(), FromBits(DType::kU64, bits));
  };
  Expr word =
      Bitcast(a, DType::kU64) + literal((uint64_t{1} << 63) - kHalfRoot);
  Expr exponent = Bitcast((word >> 52) | literal(0x433ull << 52), DType::kF64);
  Expr fraction = word & (0x1p52 - 1);
  Expr r = Bitcast(fraction + literal(kHalfRoot), DType::kF64) - 1;
  return Fma(r, InHalves(r, kLog2Slope), exponent - (0x1p52 + 2048));
}

// 2^x for |x| below 1000.
Expr Exp2OfSmall(Expr x) {
  const double rounder = FormatOf(DType::kF64).rounder;
  Expr shifted = x + rounder;
  Expr r = x - (shifted - rounder);
  Expr y = Fma(InHalves(r, kExp2Slope), r, 1);
  Expr word = Bitcast(y, DType::kU64) + (Bitcast(shifted, DType::kU64) << 52);
  return Bitcast(word, DType::kF64);
}

// |x|^y for finite numbers and x != 0. The digits that f64 has beyond f32
// suffice.
Expr Magnitude32(Expr x, Expr y) {
  constexpr double kMost = 200;  // an exponent that f32 does not have
  Expr log = Log2OfNormal(Convert(Abs(x), DType::kF64));
  Expr product = Convert(y, DType::kF64) * log;
  Expr power = Exp2OfSmall(Min(kMost, Max(-kMost, product)));
  return Convert(power, DType::kF32);
}

// The same, for other numbers too.
Expr AnyMagnitude32(Expr magnitude, Expr x, Expr y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Expr a = Abs(x);
  Expr grows = Select(Less(0, y), LiteralLike(x, kInfinity), 0);
  Expr falls = Select(Less(0, y), LiteralLike(x, 0), kInfinity);
  Expr value = Select(Equal(a, kInfinity), grows, magnitude);
  value = Select(Equal(a, 0), falls, value);
  return Select(Equal(x, x) & Equal(y, y), value, x + y);
}

Expr Magnitude64(Expr x, Expr y) {
  Pair log = Log2AsPair(Abs(x));
  Pair product = TwoProduct(y, log.hi);
  // Where the power overflows, the rest must not undo it.
  Expr inside = (-1076 < product.hi) & (product.hi <= 1024);
  Expr lo = Select(inside, Fma(y, log.lo, product.lo), 0);
  return Exp2OfPair({.hi = product.hi, .lo = lo});
}

// With the sign of the power and C's special values.
Expr PowerOfMagnitude(Expr magnitude, Expr x, Expr y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const DType word = FormatOf(x.dtype()).word;
  Expr integral = Equal(y, Floor(y));
  Expr half = y * 0.5;
  Expr odd = integral & NotEqual(half, Floor(half));
  Expr sign = Bitcast(x, word) & Bitcast(LiteralLike(x, -0.0), word);
  Expr negated = Bitcast(Bitcast(magnitude, word) | sign, x.dtype());
  Expr undefined = (x < 0) & (-kInfinity < x) & Not(integral);
  Expr power =
      Select(undefined, LiteralLike(x, kNan), Select(odd, negated, magnitude));
  Expr one =
      Equal(x, 1) | Equal(y, 0) | (Equal(x, -1) & Equal(Abs(y), kInfinity));
  return Select(one, LiteralLike(x, 1), power);
}

}  // namespace

Expr PowValue(Expr x, Expr y) {
  if (x.dtype() != DType::kF32) {
    return PowerOfMagnitude(Magnitude64(x, y), x, y);
  }
  // Of x > 0 and finite numbers, the magnitude is the power.
  Expr magnitude = Magnitude32(x, y);
  Expr plain =
      (0 < x) & (Max(x, Abs(y)) < std::numeric_limits<double>::infinity());
  return Select(plain, magnitude,
                PowerOfMagnitude(AnyMagnitude32(magnitude, x, y), x, y));
}

}  // namespace ocannl
