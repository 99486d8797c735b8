// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/zeros.h"

#include <cmath>
#include <variant>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/overload.h"

namespace ocannl {
namespace {

// The rule for the formula of a defined operation.
class Formula {
 public:
  Formula(const ComputeSource& source, const ExprPool& pool, int gradient,
          int operand)
      : is_sum_(source.accum == Op::kAdd),
        pool_(pool),
        gradient_(gradient),
        operand_(operand),
        end_(operand + static_cast<int>(source.operands.size())) {}

  // By the rule of each node, once.
  bool Preserves(ExprId value) {
    if (known_.contains(value)) return known_.at(value);
    const bool result = std::visit(
        Overload{
            [](const Constant& number) { return ToDouble(number) == 0; },
            [&](const Leaf& leaf) { return leaf.id == gradient_; },
            [&](const Apply& apply) { return Preserves(apply); },
        },
        pool_[value]);
    known_.emplace(value, result);
    return result;
  }

 private:
  bool Preserves(const Apply& apply) {
    const auto& args = apply.args;
    switch (apply.op) {
      case Op::kAdd:
      case Op::kSub:
      case Op::kNeg:
      case Op::kConvert:
        return absl::c_all_of(args, [&](ExprId arg) { return Preserves(arg); });
      case Op::kSelect:
        return Preserves(args[1]) && Preserves(args[2]);
      case Op::kMul:
        return (Preserves(args[0]) && IsFactor(args[1])) ||
               (IsFactor(args[0]) && Preserves(args[1]));
      default:
        return false;
    }
  }

  // A number, or an operand that is 0 outside of its cells, as sums have it.
  bool IsFactor(ExprId value) const {
    const auto* number = std::get_if<Constant>(&pool_[value]);
    if (number != nullptr) return std::isfinite(ToDouble(*number));
    const auto* leaf = std::get_if<Leaf>(&pool_[value]);
    return is_sum_ && leaf != nullptr && leaf->id >= operand_ &&
           leaf->id < end_;
  }

  bool is_sum_;
  const ExprPool& pool_;
  int gradient_;
  int operand_;
  int end_;  // behind the operands are intermediates
  NodeMap<bool> known_;
};

}  // namespace

bool PreservesZeros(const ComputeSource& source, const ExprPool& pool,
                    ExprId value, int gradient, int operand) {
  if (source.defined) {
    return Formula(source, pool, gradient, operand).Preserves(value);
  }
  const bool is_sum =
      !source.op || source.op == Op::kAdd || source.op == Op::kSub;
  return is_sum || (source.op == Op::kMul && source.accum == Op::kAdd);
}

}  // namespace ocannl
