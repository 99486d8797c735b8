// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/tensor.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/scalars.h"

namespace ocannl {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class TensorTest : public ::testing::Test {
 protected:
  Tensor MakeData(std::string name, DType dtype) {
    ShapeSpec spec;
    spec[RowKind::kOutput] = Dims{2};
    return Data(graph_, std::move(name), NdArray(dtype, {2}), spec);
  }
  Tensor MakeParam(std::string name) {
    return Param(graph_, std::move(name), {}, DType::kF32, nullptr);
  }

  static const ComputeSource& Compute(Tensor tensor) {
    return std::get<ComputeSource>(tensor.node().source);
  }
  static const TensorNode& Operand(Tensor tensor, int i) {
    return (*tensor.graph)[Compute(tensor).operands[i]];
  }
  // The message of an error node; empty for others.
  static std::string ErrorOf(Tensor tensor) {
    const auto* error = std::get_if<ErrorSource>(&tensor.node().source);
    return error == nullptr ? "" : std::string(error->status.message());
  }

  Graph graph_;
  Tensor x_ = MakeData("x", DType::kF32);
  Tensor y_ = MakeData("y", DType::kF32);
  Tensor w_ = MakeParam("w");
};

TEST_F(TensorTest, BoolsCountAsNumbers) {
  const Tensor less = Less(x_, y_);
  const Tensor chosen = PointMul(w_, less);
  EXPECT_EQ(chosen.node().dtype, DType::kF32);
  EXPECT_TRUE(Operand(chosen, 0).has_gradient);
  EXPECT_FALSE(Operand(chosen, 1).has_gradient);
  EXPECT_EQ((1 - less).node().dtype, DType::kF32);
  EXPECT_EQ((less + MakeData("i", DType::kI32)).node().dtype, DType::kI32);
  EXPECT_EQ((MakeData("h", DType::kF16) / less).node().dtype, DType::kF16);
  EXPECT_EQ(Equal(less, 1).node().dtype, DType::kBool);
  EXPECT_EQ(Select(less, less, 0.5).node().dtype, DType::kF32);
  graph_.set_default_dtype(DType::kF64);
  EXPECT_EQ(DecidedDType(less + less), DType::kF64);
  EXPECT_EQ(DecidedDType(Sum(less)), DType::kF64);
  for (const Tensor logic :
       {less && x_, x_ && y_, x_ || 0, 1 || less, !x_, !less}) {
    EXPECT_EQ(ErrorOf(logic), "");
    EXPECT_EQ(logic.node().dtype, DType::kBool);
  }
}

TEST_F(TensorTest, OperatorsBuildWhatTheySay) {
  EXPECT_EQ(Compute(x_ + y_).op, Op::kAdd);
  EXPECT_EQ(Compute(x_ / y_).op, Op::kDiv);
  EXPECT_EQ(Compute(-x_).op, Op::kNeg);
  EXPECT_EQ(Compute(Fma(x_, y_, 1)).operands.size(), 3u);
  Tensor product = w_ * x_;
  using Source = ComputeSource;
  EXPECT_TRUE(std::holds_alternative<Source::Compose>(Compute(product).logic));
  EXPECT_EQ(Compute(product).accum, Op::kAdd);
  const Source& pointwise = Compute(PointMul(x_, y_));
  EXPECT_TRUE(std::holds_alternative<Source::Pointwise>(pointwise.logic));
  EXPECT_EQ(pointwise.accum, std::nullopt);
}

TEST_F(TensorTest, IndexingBuildsWhatItSays) {
  Tensor ids = MakeData("ids", DType::kI64);
  const auto& gather = std::get<ComputeSource::Gather>(
      Compute(Gather("v, d; b| => b|d", x_, ids)).logic);
  EXPECT_EQ(gather.ids, ids.id);
  EXPECT_FALSE(gather.scatters);
  const auto& scan =
      std::get<ScanSource>(CumulativeSum("...|...,i", x_).node().source);
  EXPECT_EQ(scan.of, x_.id);
  EXPECT_EQ(scan.axis, "i");
}

// The first error is that of the array, not of the dtype of an error node.
TEST_F(TensorTest, IndexingOfAnErrorTellsOfThatError) {
  Tensor wrong = Convert(Einsum1("not a spec", x_), DType::kI32);
  ASSERT_THAT(ErrorOf(wrong), testing::HasSubstr("not a spec"));
  for (Tensor indexed :
       {OneHot(wrong, 3, DType::kF32), Gather("v, d; b| => b|d", x_, wrong),
        ScatterAdd("b|d; b| => v, d", x_, wrong, 3)}) {
    EXPECT_EQ(ErrorOf(indexed), ErrorOf(wrong));
  }
}

TEST_F(TensorTest, ReductionsBuildWhatTheySay) {
  Tensor sum = Einsum1("i => 0", x_);
  EXPECT_EQ(Compute(sum).op, std::nullopt);
  EXPECT_EQ(Compute(sum).accum, Op::kAdd);
  EXPECT_EQ(Compute(EinMax1("i => 0", x_)).accum, Op::kMax);
  EXPECT_EQ(Compute(Einsum("i; i => i", x_, y_)).op, Op::kMul);
  EXPECT_EQ(Compute(OuterSum("i; j => ij", x_, y_)).op, Op::kAdd);
  EXPECT_EQ(Compute(Tropical("i; j => ij", x_, y_)).op, Op::kAdd);
  EXPECT_EQ(Compute(Tropical("i; j => ij", x_, y_)).accum, Op::kMax);
}

TEST_F(TensorTest, RemembersWhereItWasWritten) {
  const int line = __LINE__ + 1;
  Tensor sum = x_ + 1;
  EXPECT_EQ(sum.node().where.line, line);
  EXPECT_EQ(Describe(sum.node()),
            absl::StrCat("`x + 1` (tensor_test.cc:", line, ")"));
}

TEST_F(TensorTest, WritesExpressionsWithTheFewestParentheses) {
  auto text = [](Tensor tensor) { return tensor.node().text; };
  EXPECT_EQ(text(w_ * x_ + y_), "w * x + y");
  EXPECT_EQ(text(PointMul(x_ + y_, x_ - (y_ - 1))), "(x + y) *. (x - (y - 1))");
  EXPECT_EQ(text(x_ - 0.1), "x - 0.1");
  EXPECT_EQ(text(x_ - 16777217), "x - 16777217");
  EXPECT_EQ(text(Literal(graph_, {}, {1.2345678f})), "[1.2345678]");
  EXPECT_EQ(text(-(x_ + y_)), "-(x + y)");
  EXPECT_EQ(text(Select(Less(x_, y_), x_, 0)), "select(x < y, x, 0)");
  EXPECT_EQ(text(Einsum("i; j => ij", x_, Relu(y_) + 1)),
            "x +* \"i; j => ij\" (relu(y) + 1)");
  EXPECT_EQ(text(Convert(x_, DType::kF64)), "f64(x)");
  EXPECT_EQ(text(Slice(x_, graph_.AddStatic("n", 3))), "x @| n");
}

TEST_F(TensorTest, NamesStandForExpressions) {
  Tensor h = Named(w_ * x_, "hidden");
  EXPECT_EQ((Relu(h) + 1).node().text, "relu(hidden) + 1");
  EXPECT_EQ(h.node().text, "w * x");
  EXPECT_EQ(graph_.Find("hidden"), h.id);
  EXPECT_EQ(Named(Relu(h), "hidden").node().name, "hidden_2");
  Tensor relu = Relu(h);
  EXPECT_EQ(relu.node().name, absl::StrCat("n", relu.id.index, "_relu"));
}

TEST_F(TensorTest, TextsStayShort) {
  Tensor h = x_;
  for (int i = 0; i < 1000; ++i) h = PointMul(h + y_, h - y_);
  EXPECT_LT(h.node().text.size(), 100u);
}

TEST_F(TensorTest, NumbersTakeTheDTypeBesideThem) {
  Tensor i = MakeData("i", DType::kI32);
  EXPECT_EQ((i + 1).node().dtype, DType::kI32);
  EXPECT_EQ(Operand(1 + i, 0).dtype, DType::kI32);
  Tensor number = Number(graph_, 2);
  EXPECT_EQ(number.node().dtype, DType::kF32);
  EXPECT_EQ(Operand(PointMul(number, i), 0).dtype, DType::kI32);
  int32_t n = graph_.AddStatic("n", 3);
  EXPECT_EQ((EmbedSymbol(graph_, n) + i).node().dtype, DType::kI32);
  EXPECT_EQ((EmbedDim(x_, {RowKind::kOutput}) / 2).node().dtype, DType::kF32);
}

TEST_F(TensorTest, ComparisonsAreBool) {
  Tensor less = Less(x_, 0);
  EXPECT_EQ(less.node().dtype, DType::kBool);
  EXPECT_EQ(Operand(less, 1).dtype, DType::kF32);
  EXPECT_EQ(Select(less, 1, x_).node().dtype, DType::kF32);
}

TEST_F(TensorTest, MixedDTypesAreAnErrorNode) {
  Tensor i = MakeData("i", DType::kI32);
  Tensor bad = Add(Arg(x_, {"a/b.cc", 7}), i);
  EXPECT_EQ(ErrorOf(bad),
            "error in `x + i` (b.cc:7): x is f32 and i is i32; convert one of "
            "them: f32(i), in C++ Convert(i, DType::kF32)");
  EXPECT_EQ((Relu(bad) + 1).id, bad.id);
  EXPECT_EQ(ErrorOf(x_ + Convert(i, DType::kF32)), "");
}

TEST_F(TensorTest, WhatAnOpDoesNotTakeIsAnErrorNode) {
  Tensor i = MakeData("i", DType::kI32);
  Tensor b = MakeData("b", DType::kBool);
  SourceLocation at = {"b.cc", 7};
  EXPECT_EQ(ErrorOf(Sqrt(Arg(i, at))),
            "error in `sqrt(i)` (b.cc:7): `sqrt` takes floats of one type, but "
            "it was given (i32); convert the operands");
  EXPECT_EQ(ErrorOf(And(Arg(b, at), x_)),
            "error in `b & x` (b.cc:7): `&` takes integers or bools of one "
            "type, but it was given (f32, f32); compare them first, as in (x < "
            "1)");
  EXPECT_EQ(ErrorOf(Convert(Arg(x_, at))),
            "error in `convert(x)` (b.cc:7): it does not say to which "
            "dtype; write Convert(x, dtype)");
}

TEST_F(TensorTest, GradientsFlowOnlyWhereTheOpLetsThem) {
  EXPECT_TRUE(w_.node().has_gradient);
  EXPECT_FALSE(x_.node().has_gradient);
  EXPECT_TRUE((w_ * x_).node().has_gradient);
  EXPECT_FALSE((x_ + y_).node().has_gradient);
  EXPECT_FALSE(Floor(w_).node().has_gradient);
  EXPECT_FALSE(Less(w_, x_).node().has_gradient);
  EXPECT_FALSE(Select(Less(w_, 0), x_, y_).node().has_gradient);
  EXPECT_TRUE(Select(Less(x_, 0), w_, y_).node().has_gradient);
  EXPECT_FALSE(Convert(w_, DType::kI32).node().has_gradient);
  EXPECT_TRUE(Convert(w_, DType::kF64).node().has_gradient);
  EXPECT_TRUE(EinMax1("i => 0", w_).node().has_gradient);
  EXPECT_FALSE(ReluGate(w_, x_).node().has_gradient);
}

TEST_F(TensorTest, SmallWholePowersAreProducts) {
  EXPECT_EQ(Pow(x_, 1).id, x_.id);
  EXPECT_EQ(Pow(x_, 2).node().text, "x *. x");
  EXPECT_EQ(Pow(x_, 3).node().text, "x *. x *. x");
  EXPECT_EQ(Compute(Pow(x_, Number(graph_, 4))).op, Op::kMul);
  EXPECT_EQ(Compute(Pow(x_, 0.5)).op, Op::kPow);
  EXPECT_EQ(Compute(Pow(x_, -1)).op, Op::kPow);
  EXPECT_EQ(Compute(Pow(x_, 9)).op, Op::kPow);
  EXPECT_EQ(Compute(Pow(2, x_)).op, Op::kPow);
}

TEST_F(TensorTest, DataMustFillItsAxes) {
  SourceLocation at = {"b.cc", 7};
  ShapeSpec spec;
  spec[RowKind::kOutput] = Dims{5};
  EXPECT_EQ(ErrorOf(Data(graph_, "d", NdArray(DType::kF32, {12}), spec, at)),
            "error in `d` (b.cc:7): the array has 12 elements, which do not "
            "fill the given axes of 5; change the array or the sizes");
  EXPECT_EQ(ErrorOf(Data(graph_, "d", NdArray(DType::kF32, {12}), {}, at)),
            "error in `d` (b.cc:7): the batch and output rows are open; give "
            "all but one");
  spec[RowKind::kOutput] = Dims{0};
  EXPECT_EQ(ErrorOf(Data(graph_, "d", NdArray(DType::kF32, {0}), spec, at)),
            "error in `d` (b.cc:7): a size of 0 is not positive");
}

TEST_F(TensorTest, AFirstValueFitsItsParameter) {
  SourceLocation at = {"b.cc", 7};
  auto fault = [&](const Initializer& init) {
    Tensor param = Param(graph_, "p", {}, DType::kF32, init, at);
    auto value = std::get<ParamSource>(param.node().source).init;
    std::string message = ErrorOf({&graph_, *value});
    graph_.Rename(param.id, "done");
    return message;
  };
  EXPECT_EQ(fault([&](Tensor) { return w_ + 1; }),
            "error in `p` (b.cc:7): its first value depends on a parameter; "
            "compute it from numbers, data and random numbers");
  EXPECT_EQ(fault([&](Tensor) { return Convert(x_, DType::kF64); }),
            "error in `p` (b.cc:7): it is f32, but its first value is f64; "
            "convert that");
  EXPECT_EQ(fault([&](Tensor) { return x_; }), "");
}

TEST_F(TensorTest, OnlyTheMergeBufferHasItsNames) {
  SourceLocation at = {"b.cc", 7};
  const std::string error =
      "error in `g.merge` (b.cc:7): that is the name of `g` in the merge "
      "buffer; choose another one";
  const Initializer zero = [&](Tensor) { return Number(graph_, 0); };
  EXPECT_EQ(ErrorOf(Param(graph_, "g.merge", {}, DType::kF32, zero, at)),
            error);
  EXPECT_EQ(ErrorOf(Data(graph_, "g.merge", NdArray(DType::kF32, {}), {}, at)),
            error);
  EXPECT_EQ(ErrorOf(Named(Number(graph_, 1, at), "g.merge")), error);
  EXPECT_EQ(graph_.Find("g.merge"), std::nullopt);
}

TEST_F(TensorTest, TensorsOfTwoGraphsAreAnError) {
  Graph other;
  const Tensor far = Range(other, 2, DType::kF32, {"far.cc", 3});
  const SourceLocation at = {"b.cc", 7};
  const std::string fault =
      " and `range(2)` (far.cc:3) are tensors of two graphs, which meet in ";
  const Arg x(x_, at);
  const std::vector<Tensor> results = {
      Add(x, far),
      x * far,
      Select(Less(x, 1), far, x),
      Einsum("i; i => i", x, far),
      Einsum("i; i; i; i => i", {x, x, far, x}),
      Concat("a; b => a^b", {x, far}),
      Gather("i; j => j", far, Convert(x, DType::kI32), at)};
  for (Tensor result : results) {
    EXPECT_EQ(result.graph, &graph_);
    EXPECT_THAT(ErrorOf(result), HasSubstr(fault));
  }
  EXPECT_THAT(ErrorOf(Add(x, far)),
              EndsWith(fault + "b.cc:7; make both in one"));
  EXPECT_EQ(Add(far, x).graph, &other);
  Tensor p = Param(
      graph_, "p", {}, DType::kF32, [&](Tensor) { return far; }, at);
  EXPECT_THAT(ErrorOf({&graph_, *std::get<ParamSource>(p.node().source).init}),
              HasSubstr(fault));
  Tensor sum = Einsum1("i => i", x), farther = Einsum1("i => i", far);
  EXPECT_THAT(SetEqual(sum, "i", farther, "i").message(),
              HasSubstr("are tensors of two graphs"));
  EXPECT_THAT(SetScale(sum, "i", 2, farther, "i").message(),
              HasSubstr("are tensors of two graphs"));
}

TEST_F(TensorTest, AProductOfManyHasALimit) {
  const std::vector<Arg> many(kMostFactors + 1, Arg(x_));
  std::string spec = "i";
  for (size_t k = 1; k < many.size(); ++k) spec += ";i";
  EXPECT_THAT(ErrorOf(Einsum(spec + " => i", many)),
              EndsWith("it has 65 operands, and the most are 64; multiply some "
                       "of them first"));
  EXPECT_THAT(ErrorOf(Reduce(Op::kMul, Op::kMax, "i; i; i => i", {x_, x_, x_})),
              HasSubstr("products of more than two are only summed"));
  Tensor product = Einsum("i; i; i; i => i", {x_, x_, w_, x_});
  EXPECT_EQ(Compute(product).op, Op::kMul);
  EXPECT_TRUE(product.node().has_gradient);
  EXPECT_EQ(product.node().text, "x +* \"i; i; i; i => i\" x w x");
}

TEST_F(TensorTest, ParametersHaveNoBatch) {
  ShapeSpec spec;
  spec[RowKind::kBatch] = Dims{2};
  EXPECT_EQ(
      ErrorOf(Param(graph_, "p", spec, DType::kF32, nullptr, {"b.cc", 7})),
      "error in `p` (b.cc:7): a parameter has no batch axes; give output "
      "and input axes only");
}

TEST_F(TensorTest, TopologicalOrderPutsOperandsFirst) {
  Tensor p = Param(graph_, "p", {}, DType::kF32, [&](Tensor) { return x_; });
  Tensor sum = p * y_ + y_;
  std::vector<TensorId> product = {p.id, y_.id, Compute(sum).operands[0],
                                   sum.id};
  EXPECT_EQ(TopologicalOrder(graph_, {sum.id}, false), product);
  product.insert(product.begin(), x_.id);
  EXPECT_EQ(TopologicalOrder(graph_, {sum.id}, true), product);
}

}  // namespace
}  // namespace ocannl
