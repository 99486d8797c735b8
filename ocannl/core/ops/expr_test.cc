// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/expr.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <variant>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

const Apply& Root(Expr e) { return std::get<Apply>((*e.pool())[e.id()]); }

const Constant& ConstantOf(const ExprPool& pool, ExprId id) {
  return std::get<Constant>(pool[id]);
}

TEST(ExprTest, EqualTextIsEqualId) {
  ExprPool pool;
  Expr x = MakeLeaf(pool, DType::kF32, 0);
  Expr y = MakeLeaf(pool, DType::kF32, 1);
  EXPECT_EQ((x + y).id(), (x + y).id());
  EXPECT_NE((x + y).id(), (y + x).id());
  EXPECT_NE((x + y).id(), (x - y).id());
  EXPECT_NE(MakeLeaf(pool, DType::kF64, 0).id(), x.id());
  EXPECT_EQ(Max(0, x).id(), Max(0.0, x).id());
}

TEST(ExprTest, ConstantsAreTheirBits) {
  ExprPool pool;
  auto id = [&](double value) {
    return Literal(pool, DType::kF32, value).id();
  };
  EXPECT_NE(id(0.0), id(-0.0));
  EXPECT_EQ(id(std::nan("")), id(-std::nan("1")));
  EXPECT_NE(id(1), Literal(pool, DType::kF64, 1).id());
  EXPECT_EQ(FromBits(DType::kF64, 0xfff0000000000001),
            MakeConstant(DType::kF64, std::nan("")));
  EXPECT_EQ(FromBits(DType::kU64, 0xfff0000000000001).bits, 0xfff0000000000001);
}

TEST(ExprTest, ConstantsRoundToTheirType) {
  EXPECT_EQ(ToDouble(MakeConstant(DType::kF32, 0.1)), 0.1f);
  EXPECT_EQ(ToDouble(MakeConstant(DType::kI32, -2.5)), -2);
  EXPECT_EQ(ToDouble(MakeConstant(DType::kU8, 300)), 255);
  EXPECT_EQ(MakeConstant(DType::kBool, 2).bits, 1);
  EXPECT_EQ(MakeConstant(DType::kI32, -1).bits, 0xffffffff);
}

TEST(ExprTest, LiteralsTakeTheTypeOfTheOperandBeside) {
  ExprPool pool;
  Expr x = MakeLeaf(pool, DType::kI64, 0);
  EXPECT_EQ(ConstantOf(pool, Root(x + 3).args[1]),
            MakeConstant(DType::kI64, 3));
  EXPECT_EQ(ConstantOf(pool, Root(3 - x).args[0]),
            MakeConstant(DType::kI64, 3));
  Expr y = MakeLeaf(pool, DType::kF64, 1);
  Expr select = Select(x < 5, y, 0);
  EXPECT_EQ(select.dtype(), DType::kF64);
  EXPECT_EQ(ConstantOf(pool, Root(select).args[2]),
            MakeConstant(DType::kF64, 0));
}

TEST(ExprTest, OperatorsAreRows) {
  ExprPool pool;
  Expr x = MakeLeaf(pool, DType::kI32, 0);
  EXPECT_EQ(Root(x + x).op, Op::kAdd);
  EXPECT_EQ(Root(x - x).op, Op::kSub);
  EXPECT_EQ(Root(x * x).op, Op::kMul);
  EXPECT_EQ(Root(x / x).op, Op::kDiv);
  EXPECT_EQ(Root(x % x).op, Op::kRem);
  EXPECT_EQ(Root(x & x).op, Op::kAnd);
  EXPECT_EQ(Root(x | x).op, Op::kOr);
  EXPECT_EQ(Root(x ^ x).op, Op::kXor);
  EXPECT_EQ(Root(x << x).op, Op::kShl);
  EXPECT_EQ(Root(x >> x).op, Op::kShr);
  EXPECT_EQ(Root(x < x).op, Op::kLess);
  EXPECT_EQ(Root(x <= x).op, Op::kLessEqual);
  EXPECT_EQ(Root(-x).op, Op::kNeg);
  EXPECT_EQ((x < x).dtype(), DType::kBool);
}

TEST(ExprTest, ConversionsToTheSameTypeVanish) {
  ExprPool pool;
  Expr x = MakeLeaf(pool, DType::kF32, 0);
  EXPECT_EQ(Convert(x, DType::kF32).id(), x.id());
  EXPECT_EQ(Bitcast(x, DType::kF32).id(), x.id());
  EXPECT_EQ(Convert(x, DType::kF64).dtype(), DType::kF64);
  EXPECT_EQ(Root(Bitcast(x, DType::kU32)).op, Op::kBitcast);
}

TEST(NodeMapTest, HasWhatItWasGiven) {
  NodeMap<int> map;
  for (int count = 0; count < 1000; ++count) {
    const ExprId id = {count * 37 % 1000};
    EXPECT_FALSE(map.contains(id));
    EXPECT_TRUE(map.emplace(id, count));
    EXPECT_FALSE(map.emplace(id, -1));
    ++map[id];
  }
  for (int count = 0; count < 1000; ++count) {
    EXPECT_EQ(map.at({count * 37 % 1000}), count + 1);
  }
  EXPECT_EQ(map[{1000}], 0);
  EXPECT_DEATH(map.at({1001}), "");
}

TEST(ExprDeathTest, WrongTypesAreOurFault) {
  ExprPool pool;
  Expr x = MakeLeaf(pool, DType::kF32, 0);
  Expr i = MakeLeaf(pool, DType::kI32, 1);
  EXPECT_DEATH(x + i, "numbers of one type");
  ExprPool other;
  EXPECT_DEATH(x + MakeLeaf(other, DType::kF32, 0), "pool");
}

}  // namespace
}  // namespace ocannl
