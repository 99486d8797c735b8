// SPDX-License-Identifier: Apache-2.0
//
// Tensor expressions as a first program writes them: numbers beside tensors,
// sums and means of all cells, inputs by their rows as text. Takes a second.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/ocannl.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Numbers on either side of each operator, and sums of all.
class ArithmeticTest : public testing::TestWithParam<std::string> {
 protected:
  std::string Value(Tensor t) {
    auto value = train::ForwardAndForget(model_, t, *FindTier(GetParam()));
    if (!value.ok()) return std::string(value.status().message());
    std::string text;
    for (int64_t k = 0; k < value->size(); ++k) {
      absl::StrAppend(&text, k == 0 ? "" : " ", value->AsDouble(k));
    }
    return text;
  }
  Tensor Of(const char* name, ShapeSpec spec, NdArray values) {
    return Data(model_.graph, name, std::move(values), std::move(spec));
  }

  train::Model model_;
  // 2|2 and 2->2.
  Tensor x_ = Of("x", {.rows = {Dims{2}, Dims{2}, Dims{}}},
                 NdArray::Of<float>({2, 2}, {1, 2, 4, 8}));
  Tensor w_ = Of("w", {.rows = {Dims{}, Dims{2}, Dims{2}}},
                 NdArray::Of<float>({2, 2}, {1, 2, 4, 8}));
  Tensor k_ = Of("k", {.rows = {Dims{}, Dims{3}, Dims{}}},
                 NdArray::Of<int32_t>({3}, {1, 2, 5}));
};

TEST_P(ArithmeticTest, TakesNumbersOnEitherSide) {
  for (Tensor t : {x_, w_}) {
    EXPECT_EQ(Value(2 * t), "2 4 8 16");
    EXPECT_EQ(Value(t * 2), "2 4 8 16");
    EXPECT_EQ(Value(0.5f * t), "0.5 1 2 4");
    EXPECT_EQ(Value(t * 0.5), "0.5 1 2 4");
    EXPECT_EQ(Value(t + 1), "2 3 5 9");
    EXPECT_EQ(Value(1 + t), "2 3 5 9");
    EXPECT_EQ(Value(t - 1), "0 1 3 7");
    EXPECT_EQ(Value(1 - t), "0 -1 -3 -7");
    EXPECT_EQ(Value(t / 2), "0.5 1 2 4");
    EXPECT_EQ(Value(8 / t), "8 4 2 1");
    EXPECT_EQ(Value(1 - t / 2 + 3 * t), "3.5 6 11 21");
    EXPECT_EQ(Value(Number(model_.graph, 2) * t), "2 4 8 16");
    EXPECT_EQ(Value(t * Sum(t)), "15 30 60 120");
    EXPECT_EQ(Value(Sum(t) * t), "15 30 60 120");
  }
  EXPECT_EQ(Value(2 * k_), "2 4 10");
  EXPECT_EQ(Value(k_ * 2), "2 4 10");
  EXPECT_EQ(Value(7 / k_), "7 3 1");
  EXPECT_THAT(Value(0.5 * k_), HasSubstr("i32 does not hold 0.5"));
  EXPECT_EQ(Value(w_ * x_), "5 20 20 80");  // tensors are multiplied
}

TEST_P(ArithmeticTest, SumsAndMeansAreOfAllCells) {
  EXPECT_EQ(Value(Sum(x_)), "15");
  EXPECT_EQ(Value(Mean(x_)), "3.75");
  EXPECT_EQ(Value(Sum(w_) / Mean(w_)), "4");
  EXPECT_EQ(Value(x_ - Mean(x_)), "-2.75 -1.75 0.25 4.25");
  EXPECT_EQ(Value(Sum(k_)), "8");
  EXPECT_THAT(Value(Mean(k_)), HasSubstr("a mean is of floats, not of i32"));
  // 70,000 is more than f16 holds; it is rounded once.
  Tensor big = Convert(Input(model_.graph, "none", "2"), DType::kF16);
  EXPECT_EQ(Mean(big).node().dtype, DType::kF16);
  Tensor half = Of("half", {.rows = {Dims{}, Dims{70}, Dims{}}},
                   NdArray(DType::kF32, {70}));
  EXPECT_EQ(Value(Mean(Convert(half + 1000, DType::kF16))), "1000");
  EXPECT_EQ(train::Mean(x_).node().dtype, DType::kF32);
}

INSTANTIATE_TEST_SUITE_P(Tiers, ArithmeticTest,
                         testing::ValuesIn(AvailableTiers()));

TEST(InputTest, ReadsItsRows) {
  train::Model model;
  auto shape = [&](const char* rows) {
    Tensor x = Input(model.graph, "x", rows);
    absl::Status status = InferShapes(model.graph, {x.id}, model.shapes);
    return status.ok() ? ToString(model.shapes, x.id)
                       : std::string(status.message());
  };
  for (const char* rows : {"50|64", "64", "2|3->4", "8|28,28,3 rgb", "", "2|",
                           "3->", "1,2|3,4->5,6"}) {
    EXPECT_EQ(shape(rows), rows);
  }
  EXPECT_EQ(shape(" 50 | 8, 9 "), "50|8,9");
  for (const char* rows : {"50|x", "0", "-1", "2|3|4", "3->4->5", "2,", ",",
                           "1.5", "2 3", "99999999999999", "2|3>4"}) {
    EXPECT_THAT(shape(rows), AllOf(HasSubstr("is not a shape; write sizes"),
                                   HasSubstr("expressions_test.cc")))
        << rows;
  }
  Tensor ids = Input(model.graph, "ids", "4|5", DType::kI32);
  EXPECT_EQ(ids.node().dtype, DType::kI32);
  EXPECT_EQ(TensorTree(ids), "ids: input\n");
  EXPECT_TRUE(train::AllParameters(model, ids).empty());
}

TEST(InputTest, IsSlicedTrainedWithAndPredicted) {
  for (const std::string& tier : AvailableTiers()) {
    TestDevice host(*FindTier(tier));
    train::Model model;
    const int32_t batch = model.graph.AddStatic("batch_n", 2);
    Tensor x = Input(model.graph, "x", "2,4|3");
    train::Linear net({&model.graph, "net"}, {.outputs = Dims{1}});
    Tensor loss = Named(Mean(Square(net(Slice(x, batch)) - 1)), "loss");
    Routine step = *train::StartTraining(model, loss, Number(model.graph, 0.1),
                                         train::Sgd(), host.context);
    ASSERT_THAT(step.Set("batch_n", 1), IsOk());
    EXPECT_THAT(step.Run(),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("reads `x`, which was never written")));
    ASSERT_THAT(host.context.Write("x", NdArray(DType::kF32, {2, 4, 3})),
                IsOk());
    EXPECT_THAT(step.Run(), IsOk());
    EXPECT_EQ(host.context.Read("loss")->AsDouble(0), 1) << tier;
    Tensor one = Input(model.graph, "one", "3");
    auto predictor =
        train::Predictor::Make(model, net(one), {one}, host.context);
    ASSERT_THAT(predictor, IsOk());
    auto y = predictor->Predict({NdArray(DType::kF32, {3})});
    ASSERT_THAT(y, IsOk());
    EXPECT_EQ(y->AsDouble(0), 0.2f) << tier;
  }
}

}  // namespace
}  // namespace ocannl
