// SPDX-License-Identifier: Apache-2.0
//
// sin, cos and tan, for every finite argument.
//
// Payne and Hanek, "Radian reduction for trigonometric functions" (1983): the
// turns x / (2 pi) modulo 1 in fixed point need only those digits of 1 / (2 pi)
// that neither x makes whole turns nor fall below the precision wanted. They
// stand in a window of a table, at an offset that x's exponent gives.
//
// For f32 the angle and its polynomials are f64. Below 2^30, which f64 has bits
// for, x less a multiple of pi or pi / 2 in two parts is exact enough (Cody and
// Waite 1980). Machine code skips the digits of the table where no lane is
// beyond. For f64 the angle is a pair.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

// The digits of 2^-24 / (2 pi), 24 being the digits of an f32.
constexpr uint64_t kTurns32[] = {0x00000028be60db93, 0x91054a7f09d5f47d,
                                 0x4d377036d8a5664f, 0x10e4107f9458eaf7,
                                 0xaef1586dc91b8e90};
// The digits of 2^-53 / (2 pi).
constexpr uint64_t kTurns64[] = {
    0x0000000000000145, 0xf306dc9c882a53f8, 0x4eafa3ea69bb81b6,
    0xc52b3278872083fc, 0xa2c757bd778ac36e, 0x48dc74849ba5c00c,
    0x925dd413a32439fc, 0x3bd63962534e7dd1, 0x046bea5d768909d3,
    0x38e04d68befc8273, 0x23ac7306a673e939, 0x08bf177bf250763f,
    0xf12fffbc0b301fde, 0x5e2316b414da3eda, 0x6cfd9e4f96136e9e,
    0x8c7ecd3cbfd45aea, 0x4f758fd7cbe2f67a, 0x0e73ef14a525d4d7,
    0xf6bf623f1aba10ac, 0x06608df8f6d757e1};

constexpr double kPiHi = 0x1.921fb54442d18p+1;
constexpr double kPiLo = 0x1.1a62633145c07p-53;
constexpr double kTwoPiHi = 0x1.921fb54442d18p+2;
constexpr double kTwoPiLo = 0x1.1a62633145c07p-52;

// |x| <= pi / 2: (sin(x) / x - 1) / x^2 in x^2, degree 4, minimax for
// the relative error: 2^-35.
constexpr double kSinTailOfHalf[] = {
    -0.16666666626151808, 0.008333331108649545, -0.00019840868212403482,
    2.752538442940992e-06, -2.3888907818574744e-08};
// Minimax on [0, pi / 4] for the relative error.
// (sin(x) / x - 1) / x^2 in x^2; degree 3: 2^-37, degree 5: 2^-57.
constexpr double kSinTail32[] = {-0.1666666664077785, 0.0083333293024944136,
                                 -0.00019839311499161548,
                                 2.7181142106435023e-06};
constexpr double kSinTail64[] = {
    -0.1666666666666663,    0.0083333333333221078,   -0.00019841269829580345,
    2.7557313618113257e-06, -2.5050747236665432e-08, 1.5896198838912628e-10};
// (cos(x) - 1 + x^2 / 2) / x^4 in x^2; degree 2: 2^-33, degree 5: 2^-63.
constexpr double kCosTail32[] = {0.04166664567054891, -0.0013887315634284734,
                                 2.4433084638680147e-05};
constexpr double kCosTail64[] = {
    0.041666666666666595,    -0.0013888888888873041, 2.480158728884197e-05,
    -2.7557314176400973e-07, 2.0875700437445269e-09, -1.1358515032029917e-11};

// `count` words from bit `offset` of `table` on.
std::vector<Expr> Window(absl::Span<const uint64_t> table, Expr offset,
                         size_t count) {
  std::vector<Expr> words;
  for (uint64_t bits : table) {
    words.push_back(FromConstant(*offset.pool(), FromBits(DType::kU64, bits)));
  }
  // Leave out 16, 8, ... words where the offset says so; the words that the
  // remaining steps and the shift below can reach stay.
  for (size_t step = 16; step > 0; step /= 2) {
    if (count + step >= table.size()) continue;
    Expr skip = NotEqual(offset & static_cast<double>(64 * step), 0);
    for (size_t i = 0; i + step < words.size(); ++i) {
      words[i] = Select(skip, words[i + step], words[i]);
    }
    words.erase(words.begin() + std::min(words.size(), count + step),
                words.end());
  }
  Expr shift = offset & 63;
  for (size_t i = 0; i < count; ++i) {
    words[i] = (words[i] << shift) | (words[i + 1] >> (64 - shift));
  }
  words.pop_back();
  return words;
}

// The upper word of a * b.
Expr MulHigh(Expr a, Expr b) {
  constexpr double kMask = 0xffffffff;
  Expr a_lo = a & kMask, a_hi = a >> 32;
  Expr b_lo = b & kMask, b_hi = b >> 32;
  Expr middle = a_hi * b_lo + ((a_lo * b_lo) >> 32);
  Expr other = a_lo * b_hi + (middle & kMask);
  return a_hi * b_hi + (middle >> 32) + (other >> 32);
}

// |x| = quadrant * pi / 2 + radians, |radians| <= pi / 4, modulo turns.
struct Angle {
  Expr quadrant;  // u64, modulo 4
  Pair radians;   // f64
};

// `turns`, in 2^-64 turns, rounded to quarters.
Expr Quadrant(Expr turns) { return (turns + 0x1p61) >> 62; }

// A signed word as f64, times `unit`.
Expr ToUnits(Expr word, double unit) {
  return Convert(Bitcast(word, DType::kI64), DType::kF64) * unit;
}

// `value` with the signs flipped that `flips` has in their place in a word.
Expr Flipped(Expr value, Expr flips) {
  return Bitcast(Bitcast(value, DType::kU64) ^ flips, DType::kF64);
}

// Whether an f32 is 2^30 or more, or NaN.
Expr IsFar(Expr x) {
  Expr bits = Bitcast(Abs(x), DType::kI32);
  return Less(Bitcast(LiteralLike(x, 0x1.fffffep29), DType::kI32), bits);
}

// x / (2 pi) modulo 1, in 2^-64 turns, for an f32 x >= 0.5.
Expr Turns32(Expr x) {
  Expr bits = Convert(Bitcast(x, DType::kU32), DType::kU64);
  std::vector<Expr> window = Window(kTurns32, (bits >> 23) - 126, 2);
  Expr digits = (bits & 0x7fffff) | 0x800000;
  // The last digits of the second word do not matter.
  return digits * window[0] + ((digits * (window[1] >> 32)) >> 32);
}

// x less `multiple`, the nearest multiple of pi / 2^k, where only the lowest
// bit of `multiple` counts; of x + quarters * pi / 2 for an even function of x.
struct Angle32 {
  Expr multiple;  // u64
  Expr radians;   // f64
};

// For |x| < 2^30.
Angle32 Near(Expr x, int k, int quarters) {
  const double rounder = FormatOf(DType::kF64).rounder;
  const double step = std::ldexp(1, -k);
  Expr wide = Convert(x, DType::kF64);
  const double inverse = 0x1.45f306dc9c883p-2 / step;
  // cos(x) is -sin of x less an odd multiple of pi / 2.
  const bool is_odd = quarters == 1;
  Expr shifted = is_odd ? Fma(wide, inverse, -0.5) + (rounder + 1)
                        : Fma(wide, inverse, rounder);
  Expr n = is_odd ? shifted - (rounder + 1) + 0.5 : shifted - rounder;
  Expr rest = Fma(n, -kPiHi * step, wide);
  return {.multiple = Bitcast(shifted, DType::kU64),
          .radians = Fma(n, -kPiLo * step, rest)};
}

// For |x| from 0.5 on, infinite or NaN.
Angle32 Far(Expr x, int k, int quarters) {
  Expr a = Abs(x);
  Expr turns = Turns32(a);
  if (quarters == 1) turns = turns + 0x1p62;
  const int bits = 63 - k;
  Expr multiple = (turns + std::ldexp(1, bits - 1)) >> bits;
  Expr rest = turns - (multiple << bits);
  Expr radians =
      ToUnits(rest, 0x1p-64 * kTwoPiHi) + Convert(x - x, DType::kF64);
  if (quarters == 0) {
    Expr sign = Convert(Bitcast(x, DType::kU32) & 0x1p31, DType::kU64) << 32;
    radians = Flipped(radians, sign);
  }
  return {.multiple = multiple, .radians = radians};
}

Angle Reduce64(Expr x, Expr bits) {
  std::vector<Expr> window = Window(kTurns64, (bits >> 52) - 1022, 3);
  Expr digits = (bits & 0x1.fffffffffffffp51) | 0x1p52;
  Expr carried = MulHigh(digits, window[2]);
  Expr lower = digits * window[1] + carried;
  Expr carry = Select(lower < carried, LiteralLike(lower, 1), 0);
  Expr upper = digits * window[0] + MulHigh(digits, window[1]) + carry;
  Expr quadrant = Quadrant(upper);
  Expr rest = upper - (quadrant << 62);
  // Sum the parts that are exact as f64, from the greatest to the least.
  Expr half = rest & 0xffffffff;
  Pair turns =
      FastTwoSum(ToUnits(rest - half, 0x1p-64), ToUnits(half, 0x1p-64));
  turns = FastTwoSum(turns.hi, turns.lo + ToUnits(lower >> 11, 0x1p-117));
  Pair radians = TwoProduct(turns.hi, LiteralLike(x, kTwoPiHi));
  Expr rounding = Fma(turns.hi, kTwoPiLo, radians.lo);
  return {.quadrant = quadrant,
          .radians = {.hi = radians.hi + (x - x),
                      .lo = Fma(turns.lo, kTwoPiHi, rounding)}};
}

Expr SinOfAngle32(Expr a) {
  Expr square = a * a;
  // As a product, it keeps the sign of 0.
  return a * Fma(square, Polynomial(square, kSinTail32), 1);
}

Expr CosOfAngle32(Expr a) {
  Expr square = a * a;
  return Fma(square, Fma(square, Polynomial(square, kCosTail32), -0.5), 1);
}

// sin(hi) + lo cos(hi)
Pair SinOfAngle64(Pair a) {
  Expr square = a.hi * a.hi;
  Expr slope = Fma(square, -0.5, 1);
  Expr tail = a.hi * square * Polynomial(square, kSinTail64);
  return FastTwoSum(a.hi, Fma(a.lo, slope, tail));
}

// cos(hi) - lo sin(hi)
Pair CosOfAngle64(Pair a) {
  Expr square = a.hi * a.hi;
  Pair lead = FastTwoSum(LiteralLike(square, 1), square * -0.5);
  Expr tail = square * square * Polynomial(square, kCosTail64);
  return FastTwoSum(lead.hi, lead.lo + Fma(-a.hi, a.lo, tail));
}

// Of radians.
struct SinCos {
  Expr quadrant;  // |x| = quadrant * pi / 2 + radians
  Expr sign;      // of x, in its place in a word
  Pair sin;
  Pair cos;
};

SinCos SinCosOf(Expr x) {
  Expr magnitude = Abs(x);
  Angle angle = Reduce64(magnitude, Bitcast(magnitude, DType::kU64));
  Expr small = magnitude < 0.5;
  Pair radians = {.hi = Select(small, magnitude, angle.radians.hi),
                  .lo = Select(small, 0, angle.radians.lo)};
  return {.quadrant = Select(small, 0, angle.quadrant),
          .sign = Bitcast(x, DType::kU64) & 0x1p63,
          .sin = SinOfAngle64(radians),
          .cos = CosOfAngle64(radians)};
}

Expr SinOfAngle(const Angle32& angle) {
  Expr a = Flipped(angle.radians, angle.multiple << 63);
  Expr square = a * a;
  Expr slope = Fma(square, Polynomial(square, kSinTailOfHalf), 1);
  return Convert(a * slope, DType::kF32);
}

// sin(x + quarters * pi / 2) for f32.
Expr Sin32(Expr x, int quarters) {
  return Select(IsFar(x), SinOfAngle(Far(x, 0, quarters)),
                SinOfAngle(Near(x, 0, quarters)));
}

// sin(x + quarters * pi / 2) for f64.
Expr Sin64(Expr x, int quarters) {
  const SinCos angle = SinCosOf(x);
  Expr quadrant = angle.quadrant + quarters;
  Expr value = Select(Equal(quadrant & 1, 0), angle.sin.hi, angle.cos.hi);
  Expr flips = (quadrant & 2) << 62;
  // sin is odd and cos is even.
  if (quarters == 0) flips = flips ^ angle.sign;
  return Flipped(value, flips);
}

// sin / cos of the radians or, an odd multiple of pi / 2 on, -cos / sin.
Expr TanOfAngle(const Angle32& angle) {
  Expr sin = SinOfAngle32(angle.radians);
  Expr cos = CosOfAngle32(angle.radians);
  Expr even = Equal(angle.multiple & 1, 0);
  return Convert(Select(even, sin, -cos) / Select(even, cos, sin), DType::kF32);
}

Expr Tan32(Expr x) {
  return Select(IsFar(x), TanOfAngle(Far(x, 1, 0)), TanOfAngle(Near(x, 1, 0)));
}

Expr Tan64(Expr x) {
  const auto [quadrant, sign, sin, cos] = SinCosOf(x);
  Expr even = Equal(quadrant & 1, 0);
  Expr top = Select(even, sin.hi, cos.hi);
  Expr bottom = Select(even, cos.hi, sin.hi);
  Expr value = top / bottom;
  // What is left of both, and of the quotient.
  Expr rest = Fma(-value, bottom, top) + Select(even, sin.lo, cos.lo);
  rest = Fma(-value, Select(even, cos.lo, sin.lo), rest);
  value = Fma(rest, WithSign(RoughRecip(Abs(bottom)), bottom), value);
  return Flipped(value, sign ^ (quadrant << 63));
}

bool IsF32(Expr x) { return x.dtype() == DType::kF32; }

}  // namespace

Expr SinValue(Expr x) { return IsF32(x) ? Sin32(x, 0) : Sin64(x, 0); }
Expr CosValue(Expr x) { return IsF32(x) ? Sin32(x, 1) : Sin64(x, 1); }
Expr TanValue(Expr x) { return IsF32(x) ? Tan32(x) : Tan64(x); }

}  // namespace ocannl
