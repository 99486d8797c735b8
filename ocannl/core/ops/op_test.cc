// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/op.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

std::string ErrorOf(Op op, const std::vector<DType>& args, DType wanted) {
  absl::StatusOr<DType> type = ResultType(op, args, wanted);
  EXPECT_EQ(type.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(type.status().message());
}

TEST(OpTest, InfoIsTheRow) {
  EXPECT_EQ(AllOps().size(), kNumOps);
  EXPECT_EQ(Info(Op::kAdd).name, "Add");
  EXPECT_EQ(Info(Op::kAdd).text, "+");
  EXPECT_EQ(Info(Op::kAdd).arity, 2);
  EXPECT_EQ(Info(Op::kAdd).traits, kCommutative);
  EXPECT_TRUE(Info(Op::kAdd).primitive);
  EXPECT_EQ(Info(Op::kReluGate).text, "relu_gate");
  EXPECT_FALSE(Info(Op::kReluGate).primitive);
}

TEST(OpTest, TextNamesOneOp) {
  std::set<absl::string_view> seen;
  for (Op op : AllOps()) {
    EXPECT_TRUE(seen.insert(Info(op).text).second) << Info(op).text;
    if (op == Op::kConvert || op == Op::kBitcast) continue;
    EXPECT_EQ(FindOp(Info(op).text), op);
  }
  EXPECT_EQ(FindOp("convert"), std::nullopt);
  EXPECT_EQ(FindOp("Add"), std::nullopt);
  EXPECT_EQ(FindOp(""), std::nullopt);
}

TEST(OpTest, SymbolsAreInfix) {
  EXPECT_TRUE(IsInfix(Op::kAdd));
  EXPECT_TRUE(IsInfix(Op::kShl));
  EXPECT_FALSE(IsInfix(Op::kMax));
  for (Op op : AllOps()) {
    EXPECT_TRUE(!IsInfix(op) || Info(op).arity == 2) << Info(op).name;
  }
}

TEST(OpTest, ResultTypesOfOperandsOfOneType) {
  const std::vector<std::pair<Op, std::vector<DType>>> kTaken = {
      {Op::kAdd,
       {DType::kU8, DType::kU16, DType::kI32, DType::kU32, DType::kI64,
        DType::kU64, DType::kF32, DType::kF64}},
      {Op::kShl,
       {DType::kU8, DType::kU16, DType::kI32, DType::kU32, DType::kI64,
        DType::kU64}},
      {Op::kPow, {DType::kF32, DType::kF64}},
      {Op::kAnd,
       {DType::kBool, DType::kU8, DType::kU16, DType::kI32, DType::kU32,
        DType::kI64, DType::kU64}},
  };
  for (const auto& [op, types] : kTaken) {
    std::vector<DType> taken;
    for (DType dtype : kDTypes) {
      absl::StatusOr<DType> type = ResultType(op, {dtype, dtype}, dtype);
      if (!type.ok()) continue;
      EXPECT_EQ(*type, dtype);
      taken.push_back(dtype);
    }
    EXPECT_EQ(taken, types) << Info(op).name;
  }
}

TEST(OpTest, ComparisonGivesBool) {
  for (DType dtype : kDTypes) {
    absl::StatusOr<DType> type = ResultType(Op::kLess, {dtype, dtype}, dtype);
    EXPECT_EQ(type.ok(), !IsNarrow(dtype));
    EXPECT_EQ(type.value_or(DType::kBool), DType::kBool);
  }
}

TEST(OpTest, SelectGivesTheTypeOfItsBranches) {
  EXPECT_EQ(*ResultType(Op::kSelect, {DType::kBool, DType::kI64, DType::kI64},
                        DType::kF32),
            DType::kI64);
  EXPECT_THAT(ErrorOf(Op::kSelect, {DType::kF32, DType::kF32, DType::kF32},
                      DType::kF32),
              HasSubstr("a bool and two operands of one type"));
  ErrorOf(Op::kSelect, {DType::kBool, DType::kF32, DType::kF64}, DType::kF32);
}

TEST(OpTest, ConvertGivesAnyTypeAndBitcastOneOfTheSameSize) {
  for (DType from : kDTypes) {
    for (DType to : kDTypes) {
      EXPECT_EQ(*ResultType(Op::kConvert, {from}, to), to);
      const bool same_size = SizeOf(from) == SizeOf(to);
      const bool numbers = from != DType::kBool && to != DType::kBool;
      EXPECT_EQ(ResultType(Op::kBitcast, {from}, to).ok(),
                same_size && numbers);
    }
  }
}

TEST(OpTest, ErrorsSayWhatIsWanted) {
  EXPECT_EQ(ErrorOf(Op::kAdd, {DType::kF32, DType::kI32}, DType::kF32),
            "`+` takes numbers of one type, but it was given (f32, i32); "
            "convert the operands");
  EXPECT_EQ(ErrorOf(Op::kExp, {DType::kF32, DType::kF32}, DType::kF32),
            "`exp` takes 1 operand, but it was given 2; write exp(a)");
  EXPECT_EQ(ErrorOf(Op::kConvert, {}, DType::kF64),
            "`f64` takes 1 operand, but it was given 0; write f64(a)");
  EXPECT_EQ(ErrorOf(Op::kBitcast, {DType::kF32}, DType::kU64),
            "`bits_u64` takes a number and gives one of the same size, but it "
            "was given (f32); convert the operands");
  EXPECT_EQ(ErrorOf(Op::kAnd, {DType::kF32, DType::kF32}, DType::kF32),
            "`&` takes integers or bools of one type, but it was given (f32, "
            "f32); compare them first, as in (x < 1)");
}

}  // namespace
}  // namespace ocannl
