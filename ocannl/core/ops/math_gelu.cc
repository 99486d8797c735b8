// SPDX-License-Identifier: Apache-2.0
//
// gelu: x times the probability that a normal number is less than x; gelu_tanh:
// an approximation of that probability. Both are exact to some units in the
// last place of x, not of the result, which is tiny for x far below 0. At -40
// nothing is left of it, and what is beyond counts as -40: inf * 0 is no
// number.
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/math.h"

namespace ocannl {
namespace {

constexpr double kEnd = 40;
constexpr double kSqrtHalf = 0.70710678118654752;
constexpr double kDensityAt0 = 0.39894228040143268;  // 1 / sqrt(2 pi)
// sigmoid(x (kLinear + kCubic x^2)) is the approximation.
constexpr double kLinear = 1.5957691216057308;  // 2 sqrt(2 / pi)
constexpr double kCubic = 0.044715 * kLinear;

Expr Probability(Expr x) { return 0.5 + 0.5 * Erf(x * kSqrtHalf); }

Expr Approximation(Expr x) {
  return Sigmoid(x * (kLinear + kCubic * (x * x)));
}

Expr Clamped(Expr x) { return Min(kEnd, Max(-kEnd, x)); }

}  // namespace

Expr GeluValue(Expr x) {
  Expr inside = Max(-kEnd, x);
  return inside * Probability(inside);
}

Expr GeluSlope(Expr x) {
  Expr inside = Clamped(x);
  Expr density = kDensityAt0 * Exp(-0.5 * (inside * inside));
  return Probability(inside) + inside * density;
}

Expr GeluTanhValue(Expr x) {
  Expr inside = Max(-kEnd, x);
  return inside * Approximation(inside);
}

Expr GeluTanhSlope(Expr x) {
  Expr inside = Clamped(x);
  Expr p = Approximation(inside);
  Expr slope = kLinear + 3 * kCubic * (inside * inside);
  return p + inside * (p * (1 - p) * slope);
}

}  // namespace ocannl
