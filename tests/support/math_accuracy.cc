// SPDX-License-Identifier: Apache-2.0
#include "tests/support/math_accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

template <class Wide>
Wide Sigmoid(Wide x) {
  const Wide power = std::exp(-std::abs(x));
  return (x < 0 ? power : 1) / (1 + power);
}

__extension__ using Quad = __float128;

// Has about twice the digits of T.
template <class T>
using Wider = std::conditional_t<std::is_same_v<T, double>, long double, Quad>;

template <class Wide>
Wide Silu(Wide x) {
  return std::isinf(x) ? std::max(x, Wide(-0.0)) : x * Sigmoid(x);
}

// Where the gelus are the identity, or nothing is left of them.
template <class Wide>
bool IsFar(Wide x) {
  return std::abs(x) > 50;
}

// erfc at the number next to the argument, corrected by its slope.
template <class Wide>
Wide Gelu(Wide x) {
  if (IsFar(x)) return std::max(x, Wide(-0.0));
  constexpr double kSqrtHalf[] = {0x1.6a09e667f3bcdp-1, -0x1.bdd3413b26456p-55};
  const Wider<Wide> t =
      -Wider<Wide>(x) * (Wider<Wide>(kSqrtHalf[0]) + Wider<Wide>(kSqrtHalf[1]));
  const Wide near = static_cast<Wide>(t), rest = static_cast<Wide>(t - near);
  const Wide slope =
      -2 * std::exp(-near * near) / std::sqrt(std::acos(Wide(-1)));
  return x * (std::erfc(near) + slope * rest) / 2;
}

template <class Wide>
Wide GeluTanh(Wide x) {
  if (IsFar(x)) return std::max(x, Wide(-0.0));
  const Wider<Wide> linear =
      Wider<Wide>(0x1.9884533d43651p+0) + Wider<Wide>(-0x1.cbc0d30ebfd15p-54);
  const Wider<Wide> a = std::abs(x);
  const Wider<Wide> t = -a * linear * (1 + a * a * 44715 / 1000000);
  const Wide near = static_cast<Wide>(t), rest = static_cast<Wide>(t - near);
  const Wide power = std::exp(near) * (1 + rest);
  return x * (x < 0 ? power : 1) / (1 + power);
}

template <class Wide>
Wide Circular(Op op, Wide x, Wide y) {
  switch (op) {
    case Op::kSin:
      return std::sin(x);
    case Op::kCos:
      return std::cos(x);
    case Op::kTan:
      return std::tan(x);
    case Op::kAsin:
      return std::asin(x);
    case Op::kAcos:
      return std::acos(x);
    case Op::kAtan:
      return std::atan(x);
    case Op::kAtan2:
      return std::atan2(x, y);
    case Op::kHypot:
      return std::hypot(x, y);
    case Op::kSinh:
      return std::sinh(x);
    case Op::kCosh:
      return std::cosh(x);
    case Op::kTanh:
      return std::tanh(x);
    case Op::kAsinh:
      return std::asinh(x);
    case Op::kAcosh:
      return std::acosh(x);
    case Op::kAtanh:
      return std::atanh(x);
    default:
      CHECK(false) << Info(op).name << " is not transcendental";
      __builtin_unreachable();
  }
}

template <class Wide>
Wide WideReference(Op op, Wide x, Wide y) {
  switch (op) {
    case Op::kExp:
      return std::exp(x);
    case Op::kExp2:
      return std::exp2(x);
    case Op::kLog:
      return std::log(x);
    case Op::kLog1p:
      return std::log1p(x);
    case Op::kLog2:
      return std::log2(x);
    case Op::kErf:
      return std::erf(x);
    case Op::kExpm1:
      return std::expm1(x);
    case Op::kLog10:
      return std::log10(x);
    case Op::kCbrt:
      return std::cbrt(x);
    case Op::kSigmoid:
      return Sigmoid(x);
    case Op::kSilu:
      return Silu(x);
    case Op::kSoftplus:
      return std::max(x, Wide(0)) + std::log1p(std::exp(-std::abs(x)));
    case Op::kRsqrt:
      return 1 / std::sqrt(x);
    case Op::kGelu:
      return Gelu(x);
    case Op::kGeluTanh:
      return GeluTanh(x);
    case Op::kPow:
      return std::pow(x, y);
    default:
      return Circular(op, x, y);
  }
}

template <class T, class Wide>
double WideUlpError(T y, Wide exact) {
  using Limits = std::numeric_limits<T>;
  const T nearest = static_cast<T>(exact);
  if (std::isnan(y) && std::isnan(exact)) return 0;
  if (y == nearest && std::signbit(y) == std::signbit(exact) &&
      (std::isinf(y) || y == exact)) {
    return 0;
  }
  if (std::isnan(y) || std::isnan(exact) || exact == 0 || std::isinf(exact) ||
      std::signbit(y) != std::signbit(exact)) {
    return Limits::infinity();
  }
  int exponent;
  std::frexp(exact, &exponent);
  exponent = std::clamp(exponent, Limits::min_exponent, Limits::max_exponent);
  // An infinite y stands for the number after the greatest.
  const Wide value = std::isinf(y) ? std::ldexp(Wide(1), Limits::max_exponent)
                                   : std::abs(Wide(y));
  return static_cast<double>(
      std::ldexp(std::abs(value - std::abs(exact)), Limits::digits - exponent));
}

}  // namespace

absl::Span<const AccuracyBound> AccuracyBounds() {
  static constexpr AccuracyBound kBounds[] = {
      {.op = Op::kExp, .f32 = 0.90, .f64 = 0.95},
      {.op = Op::kLog, .f32 = 0.89, .f64 = 1.05},
      {.op = Op::kLog1p, .f32 = 0.89, .f64 = 1.05},
      {.op = Op::kExp2, .f32 = 0.96, .f64 = 1.00},
      {.op = Op::kLog2, .f32 = 0.96, .f64 = 1.15},
      {.op = Op::kSin, .f32 = 0.502, .f64 = 0.85},
      {.op = Op::kCos, .f32 = 0.502, .f64 = 0.85},
      {.op = Op::kTanh, .f32 = 1.16, .f64 = 1.15},
      {.op = Op::kErf, .f32 = 1.10, .f64 = 1.15},
      {.op = Op::kSigmoid, .f32 = 1.38, .f64 = 1.37},
      {.op = Op::kSilu, .f32 = 1.00, .f64 = 1.00},
      {.op = Op::kSoftplus, .f32 = 1.66, .f64 = 1.75},
      {.op = Op::kRsqrt, .f32 = 1.50, .f64 = 1.50},
      {.op = Op::kGelu, .f32 = 2.00, .f64 = 2.00},
      {.op = Op::kGeluTanh, .f32 = 2.00, .f64 = 2.00},
      {.op = Op::kExpm1, .f32 = 0.83, .f64 = 1.05},
      {.op = Op::kLog10, .f32 = 0.97, .f64 = 1.10},
      {.op = Op::kCbrt, .f32 = 0.502, .f64 = 0.51},
      {.op = Op::kTan, .f32 = 0.502, .f64 = 1.25},
      {.op = Op::kAsin, .f32 = 0.64, .f64 = 0.66},
      {.op = Op::kAcos, .f32 = 0.64, .f64 = 0.66},
      {.op = Op::kAtan, .f32 = 0.94, .f64 = 0.95},
      {.op = Op::kSinh, .f32 = 0.89, .f64 = 0.90},
      {.op = Op::kCosh, .f32 = 0.74, .f64 = 0.90},
      {.op = Op::kAsinh, .f32 = 0.87, .f64 = 0.95},
      {.op = Op::kAcosh, .f32 = 0.86, .f64 = 0.90},
      {.op = Op::kAtanh, .f32 = 0.82, .f64 = 0.82},
      {.op = Op::kAtan2, .f32 = 0.95, .f64 = 0.95},
      {.op = Op::kHypot, .f32 = 0.77, .f64 = 0.77},
      {.op = Op::kPow, .f32 = 0.501, .f64 = 1.15},
  };
  return kBounds;
}

double Reference(Op op, float x, float y) {
  return WideReference<double>(op, x, y);
}

long double Reference(Op op, double x, double y) {
  return WideReference<long double>(op, x, y);
}

double UlpError(float y, double exact) { return WideUlpError(y, exact); }

double UlpError(double y, long double exact) { return WideUlpError(y, exact); }

}  // namespace ocannl
