// SPDX-License-Identifier: Apache-2.0
//
// sin, cos and tan, for every finite argument.
//
// Payne and Hanek, "Radian reduction for trigonometric functions" (1983): the
// turns x / (2 pi) modulo 1 in fixed point need only those digits of 1 / (2 pi)
// that neither x makes whole turns nor fall below the precision wanted. They
// stand in a window of a table, at an offset that x's exponent gives.
//
// For f32 the angle and its polynomials are f64; for f64 the angle is a pair.
#include <algorithm>
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

constexpr double kTwoPiHi = 0x1.921fb54442d18p+2;
constexpr double kTwoPiLo = 0x1.1a62633145c07p-52;

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

// The angle of x, at least 0.5, infinite or NaN, with its bits as u64.
Angle Reduce32(Expr x, Expr bits) {
  std::vector<Expr> window = Window(kTurns32, (bits >> 23) - 126, 2);
  Expr digits = (bits & 0x7fffff) | 0x800000;
  // The last digits of the second word do not matter.
  Expr turns = digits * window[0] + ((digits * (window[1] >> 32)) >> 32);
  Expr quadrant = Quadrant(turns);
  Expr rest = turns - (quadrant << 62);
  Expr radians = ToUnits(rest, 0x1p-64 * kTwoPiHi) + (x - x);
  return {.quadrant = quadrant,
          .radians = {.hi = radians, .lo = LiteralLike(radians, 0)}};
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
  return Fma(a * square, Polynomial(square, kSinTail32), a);
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

// Of radians, as f64; the parts that are left are 0 for f32.
struct SinCos {
  Expr quadrant;  // |x| = quadrant * pi / 2 + radians
  Expr sign;      // of x, in its place in a word
  Pair sin;
  Pair cos;
};

SinCos SinCosOf(Expr x) {
  const bool is_f32 = x.dtype() == DType::kF32;
  Expr wide = Convert(x, DType::kF64);
  Expr magnitude = Abs(wide);
  Expr bits = is_f32 ? Convert(Bitcast(Abs(x), DType::kU32), DType::kU64)
                     : Bitcast(magnitude, DType::kU64);
  Angle angle = is_f32 ? Reduce32(magnitude, bits) : Reduce64(magnitude, bits);
  Expr small = magnitude < 0.5;
  Expr hi = Select(small, magnitude, angle.radians.hi);
  Expr lo = Select(small, 0, angle.radians.lo);
  Expr zero = LiteralLike(hi, 0);
  Pair pair = {.hi = hi, .lo = lo};
  return {.quadrant = Select(small, 0, angle.quadrant),
          .sign = Bitcast(wide, DType::kU64) & 0x1p63,
          .sin = is_f32 ? Pair{SinOfAngle32(hi), zero} : SinOfAngle64(pair),
          .cos = is_f32 ? Pair{CosOfAngle32(hi), zero} : CosOfAngle64(pair)};
}

// `value` with the signs flipped that `flips` has, as `dtype`.
Expr Flipped(Expr value, Expr flips, DType dtype) {
  return Convert(Bitcast(Bitcast(value, DType::kU64) ^ flips, DType::kF64),
                 dtype);
}

// sin(x + quarters * pi / 2)
Expr SinFrom(Expr x, int quarters) {
  const SinCos angle = SinCosOf(x);
  Expr quadrant = angle.quadrant + quarters;
  Expr value = Select(Equal(quadrant & 1, 0), angle.sin.hi, angle.cos.hi);
  Expr flips = (quadrant & 2) << 62;
  // sin is odd and cos is even.
  if (quarters == 0) flips = flips ^ angle.sign;
  return Flipped(value, flips, x.dtype());
}

}  // namespace

Expr SinValue(Expr x) { return SinFrom(x, 0); }
Expr CosValue(Expr x) { return SinFrom(x, 1); }

// sin / cos of the radians or, a quarter on, -cos / sin.
Expr TanValue(Expr x) {
  const auto [quadrant, sign, sin, cos] = SinCosOf(x);
  Expr even = Equal(quadrant & 1, 0);
  Expr top = Select(even, sin.hi, cos.hi);
  Expr bottom = Select(even, cos.hi, sin.hi);
  Expr value = top / bottom;
  if (x.dtype() == DType::kF64) {
    // What is left of both, and of the quotient.
    Expr rest = Fma(-value, bottom, top) + Select(even, sin.lo, cos.lo);
    rest = Fma(-value, Select(even, cos.lo, sin.lo), rest);
    value = Fma(rest, WithSign(RoughRecip(Abs(bottom)), bottom), value);
  }
  return Flipped(value, sign ^ (quadrant << 63), x.dtype());
}

}  // namespace ocannl
