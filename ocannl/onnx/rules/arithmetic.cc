// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/onnx/rules/rules.h"

namespace ocannl::onnx {
namespace {

OpRule Same(std::string name, Op op) {
  return {std::move(name), [op](const OpCall& call) -> absl::StatusOr<Outputs> {
            std::vector<Value> args;
            for (size_t k = 0; k < call.inputs.size(); ++k) {
              args.push_back(call[k]);
            }
            return Map(op, args);
          }};
}

// op of any number of inputs, from the left.
Value Fold(Op op, const OpCall& call) {
  Value all = call[0];
  for (size_t k = 1; k < call.inputs.size(); ++k) all = Map(op, {all, call[k]});
  return all;
}

// The remainder with the sign of the divisor.
Value FloorRemainder(const Value& a, const Value& b) {
  const Value rest = Rem(a, b);
  const Value other_side = Xor(Less(rest, 0), Less(b, 0));
  return Select(And(NotEqual(rest, 0), other_side), rest + b, rest);
}

absl::StatusOr<Outputs> ModRule(const OpCall& call) {
  const Value &a = call[0], &b = call[1];
  if (call.Whole("fmod", 0) != 0) return Rem(a, b);
  if (IsInteger(a.dtype())) return FloorRemainder(a, b);
  return absl::UnimplementedError("floats without fmod");
}

// Whole powers of whole numbers by way of f64.
absl::StatusOr<Outputs> PowRule(const OpCall& call) {
  const DType dtype = call[0].dtype();
  const DType computed =
      IsFloat(ComputeDType(dtype)) ? ComputeDType(dtype) : DType::kF64;
  return Cast(Pow(Cast(call[0], computed), Cast(call[1], computed)), dtype);
}

// kMax and kMin give their second operand if either is a NaN. x is the second,
// so that its NaNs stay.
absl::StatusOr<Outputs> ClipRule(const OpCall& call) {
  Value x = call[0];
  if (call.opset < 11) {
    const double most = std::numeric_limits<float>::max();
    x = Max(call.Number("min", -most), x);
    return Min(call.Number("max", most), x);
  }
  if (call.Has(1)) x = Max(call[1], x);
  if (call.Has(2)) x = Min(call[2], x);
  return x;
}

// Of any number of inputs. A NaN among them is the result.
Value Extreme(Op op, const OpCall& call) {
  Value all = call[0];
  for (size_t k = 1; k < call.inputs.size(); ++k) {
    const Value next = Map(op, {all, call[k]});
    all = IsInteger(all.dtype()) ? next : Select(Equal(all, all), next, all);
  }
  return all;
}

absl::StatusOr<Outputs> BitShiftRule(const OpCall& call) {
  const bool left = call.Text("direction", "") == "LEFT";
  return Map(left ? Op::kShl : Op::kShr, {call[0], call[1]});
}

absl::StatusOr<Outputs> CastRule(const OpCall& call) {
  OCANNL_ASSIGN_OR_RETURN(DType dtype, DTypeOfCode(call.Whole("to", 0)));
  if (call.Whole("saturate", 1) != 0) return Saturated(call[0], dtype);
  return Cast(call[0], dtype);
}

}  // namespace

std::vector<OpRule> ArithmeticRules() {
  std::vector<OpRule> rules = {
      Same("Add", Op::kAdd),         Same("Sub", Op::kSub),
      Same("Mul", Op::kMul),         Same("Div", Op::kDiv),
      Same("Neg", Op::kNeg),         Same("Abs", Op::kAbs),
      Same("Floor", Op::kFloor),     Same("Ceil", Op::kCeil),
      Same("Round", Op::kRound),     Same("Sqrt", Op::kSqrt),
      Same("Reciprocal", Op::kRecip)};
  rules.push_back(
      {"Sum", [](const OpCall& call) { return Fold(Op::kAdd, call); }});
  for (auto [name, op] : {std::pair("Max", Op::kMax), {"Min", Op::kMin}}) {
    rules.push_back(
        {name, [op = op](const OpCall& call) { return Extreme(op, call); }});
  }
  rules.push_back({"Mean", [](const OpCall& call) {
                     return Fold(Op::kAdd, call) /
                            static_cast<double>(call.inputs.size());
                   }});
  rules.push_back({"Sign", [](const OpCall& call) {
                     const Value& x = call[0];
                     return Cast(Less(0, x), x.dtype()) -
                            Cast(Less(x, 0), x.dtype());
                   }});
  rules.push_back({"CastLike", [](const OpCall& call) {
                     const DType dtype = call[1].dtype();
                     return call.Whole("saturate", 1) != 0
                                ? Saturated(call[0], dtype)
                                : Cast(call[0], dtype);
                   }});
  rules.push_back({"Mod", ModRule});
  rules.push_back({"Pow", PowRule});
  rules.push_back({"Clip", ClipRule});
  rules.push_back({"BitShift", BitShiftRule});
  rules.push_back({"Cast", CastRule});
  return rules;
}

std::vector<OpRule> ComparisonRules() {
  std::vector<OpRule> rules = {
      Same("Less", Op::kLess),      Same("LessOrEqual", Op::kLessEqual),
      Same("Equal", Op::kEqual),    Same("And", Op::kAnd),
      Same("Or", Op::kOr),          Same("Xor", Op::kXor),
      Same("Not", Op::kNot),        Same("Where", Op::kSelect),
      Same("BitwiseAnd", Op::kAnd), Same("BitwiseOr", Op::kOr),
      Same("BitwiseXor", Op::kXor), Same("BitwiseNot", Op::kNot)};
  rules.push_back(
      {"Greater", [](const OpCall& call) { return Less(call[1], call[0]); }});
  rules.push_back({"GreaterOrEqual", [](const OpCall& call) {
                     return LessEqual(call[1], call[0]);
                   }});
  rules.push_back(
      {"IsNaN", [](const OpCall& call) { return NotEqual(call[0], call[0]); }});
  rules.push_back({"IsInf", [](const OpCall& call) {
                     const double infinity =
                         std::numeric_limits<double>::infinity();
                     const Value& x = call[0];
                     const bool above = call.Whole("detect_positive", 1) != 0;
                     const bool below = call.Whole("detect_negative", 1) != 0;
                     if (above && below) return Equal(Abs(x), infinity);
                     if (above) return Equal(x, infinity);
                     if (below) return Equal(x, -infinity);
                     return Less(Abs(x), 0);
                   }});
  return rules;
}

}  // namespace ocannl::onnx
