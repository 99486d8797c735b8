// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/rows.h"

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/ops/print.h"

namespace ocannl {
namespace {

std::string Text(const ExprPool& pool, ExprId id) {
  return PrintExpr(pool, id,
                   [](const Leaf& leaf) { return absl::StrCat("x", leaf.id); });
}

class RowsTest : public testing::Test {
 protected:
  std::string Expanded(Expr e) { return Text(pool_, Expand(pool_, e.id())); }

  std::string Gradient(Op op, absl::Span<const Expr> args, int operand) {
    auto grads =
        Gradients(op, args, ApplyOp(op, args, DType::kF32), g_)[operand];
    return grads ? Text(pool_, grads->id()) : "none";
  }

  ExprPool pool_;
  Expr x_ = MakeLeaf(pool_, DType::kF32, 0);
  Expr y_ = MakeLeaf(pool_, DType::kF32, 1);
  Expr g_ = MakeLeaf(pool_, DType::kF32, 2);
};

TEST_F(RowsTest, DefinitionIsTheRow) {
  EXPECT_EQ(Text(pool_, Definition(Op::kRsqrt, {x_}).id()), "1 / sqrt(x0)");
  EXPECT_EQ(Text(pool_, Definition(Op::kSat01, {x_}).id()),
            "min(1, max(0, x0))");
}

TEST_F(RowsTest, ExpandLeavesPrimitivesOnly) {
  EXPECT_EQ(Expanded(Relu(x_ + 1)), "max(0, x0 + 1)");
  EXPECT_EQ(Expanded(Recip(Relu(x_))), "1 / max(0, x0)");
  EXPECT_EQ(Expanded(ReluGate(x_, Relu(y_))), "select(0 < x0, max(0, x1), 0)");
  EXPECT_EQ(Expanded(x_), "x0");
}

TEST_F(RowsTest, ExpandOfALongChainIsQuick) {
  Expr chain = x_;
  for (int i = 0; i < 2000; ++i) chain = Relu(chain) + Recip(chain);
  Expand(pool_, chain.id());
  EXPECT_LT(pool_.size(), 20000);
}

TEST_F(RowsTest, Gradients) {
  EXPECT_EQ(Gradient(Op::kRelu, {x_}, 0), "relu_gate(x0, x2)");
  EXPECT_EQ(Gradient(Op::kMul, {x_, y_}, 0), "x2 * x1");
  EXPECT_EQ(Gradient(Op::kMul, {x_, y_}, 1), "x0 * x2");
  EXPECT_EQ(Gradient(Op::kExp, {x_}, 0), "x2 * exp(x0)");
  EXPECT_EQ(Gradient(Op::kFloor, {x_}, 0), "none");
}

TEST_F(RowsTest, RewriteVisitsSharedNodesOnceAndOperandsFirst) {
  Expr square = x_ * x_;
  Expr root = square + square;
  int visits = 0;
  ExprId rewritten = Rewrite(pool_, root.id(), [&](ExprId id) {
    ++visits;
    return id == x_.id() ? y_.id() : id;
  });
  EXPECT_EQ(visits, 3);
  EXPECT_EQ(Text(pool_, rewritten), "(x1 * x1) + (x1 * x1)");
}

TEST_F(RowsTest, FoldComputes) {
  Expr three = Literal(pool_, DType::kF32, 3);
  EXPECT_EQ(Fold(pool_, (three * three - 1).id()),
            MakeConstant(DType::kF32, 8));
  EXPECT_EQ(Fold(pool_, Relu(-three).id()), MakeConstant(DType::kF32, 0));
  EXPECT_EQ(Fold(pool_, Pow(three, 3).id()), MakeConstant(DType::kF32, 27));
}

}  // namespace
}  // namespace ocannl
