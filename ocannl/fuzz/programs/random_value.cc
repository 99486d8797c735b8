// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/programs/random_value.h"

#include <utility>

#include "ocannl/core/ops/rows.h"

namespace ocannl::fuzz {
namespace {

// A program uses most of the operations that its policies allow, but not all:
// one that every program uses would hide the rest.
std::vector<Op> DrawOps(Random& random, const Policies& policies) {
  std::vector<Op> ops = {Op::kAdd, Op::kMul};
  for (Op op : AllOps()) {
    const OpInfo& info = Info(op);
    if (!info.primitive && !policies.Has(Policy::kDerivedFunctions)) continue;
    // Hundreds of operations each.
    bool long_row =
        info.typing == Typing::kWord || op == Op::kPow || op == Op::kTan;
    if (random.OneIn(long_row ? 8 : 2)) ops.push_back(op);
  }
  return ops;
}

std::vector<DType> DrawDTypes(Random& random, const Policies& policies) {
  if (policies.Has(Policy::kMixedPrecision)) {
    return {std::begin(kDTypes), std::end(kDTypes)};
  }
  if (random.OneIn(2)) return {DType::kF32};
  const DType dtype = random.Pick(kDTypes);
  return {dtype, ComputeDType(dtype)};
}

}  // namespace

RandomValues::RandomValues(LoopProgram* program, Random* random,
                           const Policies& policies, Leaf leaf)
    : program_(program),
      random_(random),
      wild_(policies.Has(Policy::kWildValues)),
      leaf_(std::move(leaf)),
      ops_(DrawOps(*random, policies)),
      dtypes_(DrawDTypes(*random, policies)) {}

Expr RandomValues::LeafOf(DType dtype) {
  if (!random_->OneIn(6)) {
    if (std::optional<LeafValue> leaf = leaf_(dtype)) {
      return program_->Read(*std::move(leaf));
    }
  }
  constexpr double kLiterals[] = {-2.25, -1, -0.5, 0, 0.5, 1,
                                  1.5,   2,  3,    7, 31,  100};
  return Literal(program_->exprs, dtype, random_->Pick(kLiterals));
}

Expr RandomValues::Value(DType dtype, int depth) {
  if (depth == 0) return LeafOf(dtype);
  if (IsNarrow(dtype) && !random_->OneIn(4)) {
    return Convert(Value(ComputeDType(dtype), depth - 1), dtype);
  }
  const Op op = random_->Pick(ops_);
  std::vector<DType> types(Info(op).arity, dtype);
  switch (Info(op).typing) {
    case Typing::kSelect:
      types[0] = DType::kBool;
      break;
    case Typing::kCompare:
    case Typing::kConvert:
    case Typing::kBitcast:
      types.assign(types.size(), PickDType());
      break;
    default:
      break;
  }
  absl::StatusOr<DType> result = ResultType(op, types, dtype);
  if (!result.ok() || *result != dtype) return Value(dtype, depth - 1);
  std::vector<Expr> args;
  for (DType type : types) {
    args.push_back(Tame(op, args.size(), Value(type, depth - 1)));
  }
  return ApplyOp(op, args, dtype);
}

// Operands where most results are numbers.
Expr RandomValues::Tame(Op op, size_t operand, Expr value) {
  if (!IsFloat(value.dtype()) || wild_) return value;
  switch (op) {
    case Op::kSqrt:
      return Abs(value);
    case Op::kRsqrt:
    case Op::kRecip:
    case Op::kLog:
    case Op::kLog2:
    case Op::kLog10:
    case Op::kLog1p:
      return Abs(value) + 0.25;
    case Op::kDiv:
      return operand == 1 ? Abs(value) + 0.25 : value;
    case Op::kExp:
    case Op::kExp2:
    case Op::kExpm1:
      return Min(value, 8);
    case Op::kSinh:
    case Op::kCosh:
      return Max(Min(value, 8), -8);
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtanh:
      return Max(Min(value, 0.75), -0.75);
    case Op::kAcosh:
      return Abs(value) + 1;
    case Op::kPow:
      return operand == 0 ? Abs(value) + 0.25 : Max(Min(value, 4), -4);
    default:
      return value;
  }
}

}  // namespace ocannl::fuzz
