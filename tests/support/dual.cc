// SPDX-License-Identifier: Apache-2.0
#include "tests/support/dual.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "ocannl/core/base/check.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/ops/rows.h"
#include "tests/support/math_accuracy.h"

namespace ocannl {
namespace {

using std::numbers::ln10;
using std::numbers::ln2;

constexpr double kPi = std::numbers::pi;

// f(a) with f'(a) = slope; no slope where a is constant, whatever f' is.
Dual Chain(Dual a, double value, double slope) {
  return {.value = value, .slope = a.slope == 0 ? 0 : slope * a.slope};
}

Dual Truth(bool value) { return {.value = value ? 1.0 : 0.0, .slope = 0}; }

// f(a, b) with the slopes that f has by each.
Dual Chain(Dual a, Dual b, double value, double by_a, double by_b) {
  return {.value = value,
          .slope = Chain(a, value, by_a).slope + Chain(b, value, by_b).slope};
}

Dual Pow(Dual a, Dual b) {
  const double value = std::pow(a.value, b.value);
  return Chain(a, b, value, b.value * std::pow(a.value, b.value - 1),
               value * std::log(a.value));
}

// op(v), nearly correctly rounded.
double Exact(Op op, double v) {
  return static_cast<double>(Reference(op, v, 0.0));
}

// A circular or hyperbolic row, if this is one.
std::optional<Dual> Circular(Op op, Dual x, Dual y) {
  const double v = x.value, w = y.value;
  switch (op) {
    case Op::kSin:
      return Chain(x, std::sin(v), std::cos(v));
    case Op::kCos:
      return Chain(x, std::cos(v), -std::sin(v));
    case Op::kTan:
      return Chain(x, std::tan(v), std::pow(std::cos(v), -2));
    case Op::kAsin:
      return Chain(x, std::asin(v), 1 / std::sqrt((1 - v) * (1 + v)));
    case Op::kAcos:
      return Chain(x, std::acos(v), -1 / std::sqrt((1 - v) * (1 + v)));
    case Op::kAtan:
      return Chain(x, std::atan(v), 1 / (1 + v * v));
    case Op::kAtan2: {
      const double square = v * v + w * w;
      return Chain(x, y, std::atan2(v, w), w / square, -v / square);
    }
    case Op::kHypot: {
      const double size = std::hypot(v, w);
      return Chain(x, y, size, v / size, w / size);
    }
    case Op::kSinh:
      return Chain(x, std::sinh(v), std::cosh(v));
    case Op::kCosh:
      return Chain(x, std::cosh(v), std::sinh(v));
    case Op::kTanh:
      return Chain(x, std::tanh(v), std::pow(std::cosh(v), -2));
    case Op::kAsinh:
      return Chain(x, std::asinh(v), 1 / std::sqrt(1 + v * v));
    case Op::kAcosh:
      return Chain(x, std::acosh(v), 1 / std::sinh(std::acosh(v)));
    case Op::kAtanh:
      return Chain(x, std::atanh(v), 1 / (1 - v * v));
    default:
      return std::nullopt;
  }
}

// A row that libm knows, if this is one.
std::optional<Dual> Transcendental(Op op, const std::vector<Dual>& args) {
  const Dual x = args[0];
  const double v = x.value;
  switch (op) {
    case Op::kExp:
      return Chain(x, std::exp(v), std::exp(v));
    case Op::kExp2:
      return Chain(x, std::exp2(v), std::exp2(v) * ln2);
    case Op::kLog:
      return Chain(x, std::log(v), 1 / v);
    case Op::kLog1p:
      return Chain(x, std::log1p(v), 1 / (1 + v));
    case Op::kLog2:
      return Chain(x, std::log2(v), 1 / (v * ln2));
    case Op::kLog10:
      return Chain(x, std::log10(v), 1 / (v * ln10));
    case Op::kExpm1:
      return Chain(x, std::expm1(v), std::exp(v));
    case Op::kCbrt:
      return Chain(x, std::cbrt(v), std::pow(std::abs(v), -2.0 / 3) / 3);
    case Op::kErf:
      return Chain(x, std::erf(v),
                   2 / std::sqrt(std::acos(-1)) * std::exp(-v * v));
    case Op::kGelu: {
      const double p = 0.5 * std::erfc(-v / std::sqrt(2));
      return Chain(x, Exact(op, v),
                   p + v * std::exp(-v * v / 2) / std::sqrt(2 * kPi));
    }
    case Op::kGeluTanh: {
      const double linear = std::sqrt(8 / kPi), cubic = 0.044715 * linear;
      const double p = 1 / (1 + std::exp(-v * (linear + cubic * v * v)));
      return Chain(x, Exact(op, v),
                   p + v * p * (1 - p) * (linear + 3 * cubic * v * v));
    }
    case Op::kSigmoid: {
      const double power = std::exp(-std::abs(v));
      return Chain(x, (v < 0 ? power : 1) / (1 + power),
                   power / ((1 + power) * (1 + power)));
    }
    case Op::kSilu: {
      const double p = 1 / (1 + std::exp(-v));
      return Chain(x, Exact(op, v), p + p * (1 - p) * v);
    }
    case Op::kSoftplus:
      return Chain(x, Exact(op, v), 1 / (1 + std::exp(-v)));
    case Op::kPow:
      return Pow(x, args[1]);
    default:
      return Circular(op, x, args.back());
  }
}

Dual Arithmetic(Op op, Dual a, Dual b, Dual c) {
  switch (op) {
    case Op::kAdd:
      return {a.value + b.value, a.slope + b.slope};
    case Op::kSub:
      return {a.value - b.value, a.slope - b.slope};
    case Op::kMul:
      return {a.value * b.value, a.slope * b.value + a.value * b.slope};
    case Op::kDiv:
      return {a.value / b.value,
              (a.slope * b.value - a.value * b.slope) / (b.value * b.value)};
    case Op::kRem:
      return {std::fmod(a.value, b.value),
              a.slope - std::trunc(a.value / b.value) * b.slope};
    case Op::kFma:
      return {std::fma(a.value, b.value, c.value),
              a.slope * b.value + a.value * b.slope + c.slope};
    case Op::kNeg:
      return {-a.value, -a.slope};
    case Op::kAbs:
      return Chain(a, std::abs(a.value),
                   a.value == 0 ? 0 : std::copysign(1, a.value));
    case Op::kSqrt:
      return Chain(a, std::sqrt(a.value), 0.5 / std::sqrt(a.value));
    case Op::kMin:
      return a.value < b.value ? a : b;
    case Op::kMax:
      return a.value > b.value ? a : b;
    case Op::kMinimum:
      return b.value < a.value || std::isnan(b.value) ? b : a;
    case Op::kMaximum:
      return b.value > a.value || std::isnan(b.value) ? b : a;
    case Op::kFloor:
      return {std::floor(a.value), 0};
    case Op::kCeil:
      return {std::ceil(a.value), 0};
    case Op::kTrunc:
      return {std::trunc(a.value), 0};
    case Op::kRound:
      return {std::rint(a.value), 0};
    default:
      CHECK(false) << "no derivative of " << Info(op).name;
      __builtin_unreachable();
  }
}

Dual Primitive(Op op, Dual a, Dual b, Dual c) {
  switch (op) {
    case Op::kLess:
      return Truth(a.value < b.value);
    case Op::kLessEqual:
      return Truth(a.value <= b.value);
    case Op::kEqual:
      return Truth(a.value == b.value);
    case Op::kNotEqual:
      return Truth(a.value != b.value);
    case Op::kAnd:
      return Truth(a.value != 0 && b.value != 0);
    case Op::kOr:
      return Truth(a.value != 0 || b.value != 0);
    case Op::kXor:
      return Truth((a.value != 0) != (b.value != 0));
    case Op::kNot:
      return Truth(a.value == 0);
    case Op::kSelect:
      return a.value != 0 ? b : c;
    case Op::kBitcast:
      return {a.value, 0};
    default:
      return Arithmetic(op, a, b, c);
  }
}

}  // namespace

Dual DualEvaluator::Eval(ExprId id) {
  auto found = done_.find(id);
  if (found != done_.end()) return found->second;
  const Dual value = EvalNode(id);
  done_[id] = value;
  return value;
}

Dual DualEvaluator::EvalNode(ExprId id) {
  const ExprNode& node = pool_[id];
  if (const Constant* constant = std::get_if<Constant>(&node)) {
    return {.value = ToDouble(*constant), .slope = 0};
  }
  if (const Leaf* leaf = std::get_if<Leaf>(&node)) return leaves_.at(leaf->id);
  const Apply& apply = std::get<Apply>(node);
  if (!Info(apply.op).primitive) return EvalDerived(apply);
  std::vector<Dual> args;
  for (ExprId arg : apply.args) args.push_back(Eval(arg));
  args.resize(3);
  if (apply.op != Op::kConvert) {
    return Primitive(apply.op, args[0], args[1], args[2]);
  }
  if (apply.dtype == DType::kF64) return args[0];
  if (!IsFloat(apply.dtype)) return {std::trunc(args[0].value), 0};
  return {static_cast<float>(args[0].value), args[0].slope};
}

Dual DualEvaluator::EvalDerived(const Apply& apply) {
  std::vector<Dual> args;
  std::vector<Expr> exprs;
  for (ExprId arg : apply.args) {
    args.push_back(Eval(arg));
    exprs.emplace_back(&pool_, arg);
  }
  if (std::optional<Dual> known = Transcendental(apply.op, args)) return *known;
  return Eval(Definition(apply.op, exprs).id());
}

}  // namespace ocannl
