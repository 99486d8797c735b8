// SPDX-License-Identifier: Apache-2.0
//
// pow(x, y) = 2^(y log2 |x|), with the sign and the special values of C.
#include <limits>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"
#include "ocannl/core/ops/math_parts.h"

namespace ocannl {
namespace {

// |x|^y. The digits that f64 has beyond f32 suffice for f32.
Expr Magnitude32(Expr x, Expr y) {
  Expr log = Log2Value(Convert(Abs(x), DType::kF64));
  Expr power = Exp2Value(Convert(y, DType::kF64) * log);
  return Convert(power, DType::kF32);
}

Expr Magnitude64(Expr x, Expr y) {
  Pair log = Log2AsPair(Abs(x));
  Pair product = TwoProduct(y, log.hi);
  // Where the power overflows, the rest must not undo it.
  Expr inside = (-1076 < product.hi) & (product.hi <= 1024);
  Expr lo = Select(inside, Fma(y, log.lo, product.lo), 0);
  return Exp2OfPair({.hi = product.hi, .lo = lo});
}

}  // namespace

Expr PowValue(Expr x, Expr y) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const DType word = FormatOf(x.dtype()).word;
  Expr magnitude =
      x.dtype() == DType::kF32 ? Magnitude32(x, y) : Magnitude64(x, y);
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

}  // namespace ocannl
