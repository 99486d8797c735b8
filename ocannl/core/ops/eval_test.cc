// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/eval.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/ops/visit_primitive.h"

namespace ocannl {
namespace {

// op on numbers of type `dtype`, as a double.
double Eval(Op op, DType dtype, const std::vector<double>& args) {
  std::vector<Constant> constants;
  std::vector<DType> types;
  for (double arg : args) {
    constants.push_back(MakeConstant(dtype, arg));
    types.push_back(dtype);
  }
  return ToDouble(EvalPrimitive(op, *ResultType(op, types, dtype), constants));
}

TEST(EvalTest, ArithmeticOfEachType) {
  EXPECT_EQ(Eval(Op::kAdd, DType::kF32, {0.1, 0.2}), 0.1f + 0.2f);
  EXPECT_EQ(Eval(Op::kAdd, DType::kF64, {0.1, 0.2}), 0.1 + 0.2);
  EXPECT_EQ(Eval(Op::kAdd, DType::kU8, {200, 100}), 44);
  EXPECT_EQ(Eval(Op::kSub, DType::kI32, {1, 3}), -2);
  EXPECT_EQ(Eval(Op::kSub, DType::kU32, {1, 3}), 4294967294);
  EXPECT_EQ(Eval(Op::kDiv, DType::kI64, {-7, 2}), -3);
  EXPECT_EQ(Eval(Op::kFma, DType::kF32, {3, 4, 5}), 17);
  EXPECT_EQ(Eval(Op::kRotl, DType::kU32, {1, 33}), 2);
}

TEST(EvalTest, OperandsKeepTheirOrder) {
  EXPECT_EQ(Eval(Op::kFma, DType::kF64, {2, 3, 10}), 16);
  EXPECT_EQ(Eval(Op::kShl, DType::kI32, {3, 4}), 48);
  EXPECT_EQ(Eval(Op::kLess, DType::kF32, {1, 2}), 1);
  EXPECT_EQ(Eval(Op::kLess, DType::kF32, {2, 1}), 0);
}

TEST(EvalTest, Bools) {
  EXPECT_EQ(Eval(Op::kAnd, DType::kBool, {1, 0}), 0);
  EXPECT_EQ(Eval(Op::kNot, DType::kBool, {0}), 1);
  EXPECT_EQ(Eval(Op::kLess, DType::kBool, {0, 1}), 1);
  const Constant yes = MakeConstant(DType::kBool, 1);
  const Constant a = MakeConstant(DType::kI64, 5);
  const Constant b = MakeConstant(DType::kI64, 6);
  EXPECT_EQ(EvalPrimitive(Op::kSelect, DType::kI64, {yes, a, b}), a);
}

TEST(EvalTest, ConversionsBetweenAllTypes) {
  for (DType from : kDTypes) {
    for (DType to : kDTypes) {
      const Constant one = MakeConstant(from, 1);
      EXPECT_EQ(EvalPrimitive(Op::kConvert, to, {one}), MakeConstant(to, 1));
    }
  }
  EXPECT_EQ(EvalPrimitive(Op::kConvert, DType::kI32,
                          {MakeConstant(DType::kF32, 1e10)}),
            MakeConstant(DType::kI32, 2147483647));
  EXPECT_EQ(
      EvalPrimitive(Op::kBitcast, DType::kU32, {MakeConstant(DType::kF32, 1)}),
      MakeConstant(DType::kU32, 0x3f800000));
}

TEST(EvalTest, EveryNanHasTheSameBits) {
  const Constant nan = MakeConstant(DType::kF64, std::nan(""));
  const Constant one = MakeConstant(DType::kF64, -1);
  EXPECT_EQ(EvalPrimitive(Op::kSqrt, DType::kF64, {one}), nan);
  EXPECT_EQ(EvalPrimitive(Op::kNeg, DType::kF64, {nan}), nan);
}

// The compile-time table agrees with the one that checks types.
TEST(EvalTest, EveryPrimitiveHasAValueOnEveryTypeThatItTakes) {
  for (Op op : AllOps()) {
    const OpInfo& info = Info(op);
    if (!info.primitive) continue;
    for (DType dtype : kDTypes) {
      EXPECT_EQ(VisitDType(dtype,
                           [&](auto zero) {
                             return Fits<decltype(zero)>(info.typing);
                           }),
                Accepts(info.typing, dtype))
          << info.name << " " << Name(dtype);
      std::vector<DType> types(info.arity, dtype);
      if (op == Op::kSelect) types[0] = DType::kBool;
      absl::StatusOr<DType> result = ResultType(op, types, dtype);
      if (!result.ok()) continue;
      std::vector<Constant> args;
      for (DType type : types) args.push_back(MakeConstant(type, 1));
      EXPECT_EQ(EvalPrimitive(op, *result, args).dtype, *result);
    }
  }
}

}  // namespace
}  // namespace ocannl
