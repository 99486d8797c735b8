// SPDX-License-Identifier: Apache-2.0
//
// What a Predictor answers, and what it says of inputs that are none.
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/ocannl.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

class PredictTest : public testing::Test {
 protected:
  Tensor Input(const std::string& name) {
    return Data(model_.graph, name, NdArray(DType::kF32, {2}),
                {.rows = {Dims{}, Dims{2}, Dims{}}});
  }
  absl::StatusOr<train::Predictor> Make(Tensor output,
                                        std::vector<Tensor> inputs) {
    return train::Predictor::Make(model_, output, inputs, host_.context);
  }

  train::Model model_;
  TestDevice host_;
  NdArray ones_ = NdArray::Of<float>({2}, {1, 1});
  NdArray bits_ = NdArray::Of<float>({2}, {0, 1});
};

TEST_F(PredictTest, AnswersWithTheParametersOfTheMoment) {
  Tensor a = Input("a");
  Tensor b = Input("b");
  Tensor w = Param(model_.graph, "w", {}, DType::kF32, {});
  absl::StatusOr<train::Predictor> predictor =
      Make(PointMul(w, a) + b + b, {a, b});
  ASSERT_THAT(predictor, IsOk());
  EXPECT_THAT(predictor->Predict({ones_, bits_}).status().message(),
              HasSubstr("`w`"));  // has no value yet
  for (float k : {1, 5}) {
    const NdArray value = NdArray::Of<float>({2}, {k, k});
    ASSERT_THAT(host_.context.Write("w", value), IsOk());
    absl::StatusOr<NdArray> c = predictor->Predict({ones_, bits_});
    ASSERT_THAT(c, IsOk());
    EXPECT_EQ(c->AsDouble(0), k);
    EXPECT_EQ(c->AsDouble(1), k + 2);
  }
}

// One is computed from another, and two share what neither is.
TEST_F(PredictTest, SeveralOutputs) {
  Tensor a = Input("a");
  Tensor twice = Named(a + a, "twice");
  Tensor shared = Exp(PointMul(a, a));
  Tensor left = Named(shared + 1, "left");
  Tensor right = Named(PointMul(shared, twice), "right");
  absl::StatusOr<train::Predictor> predictor =
      train::Predictor::Make(model_, {left, right, twice}, {a}, host_.context);
  ASSERT_THAT(predictor, IsOk());
  for (const NdArray& given : {bits_, ones_}) {
    const auto answers = predictor->PredictAll({given});
    ASSERT_THAT(answers, IsOk());
    ASSERT_EQ(answers->size(), 3u);
    for (int k = 0; k < 2; ++k) {
      const double x = given.AsDouble(k);
      EXPECT_NEAR((*answers)[0].AsDouble(k), std::exp(x * x) + 1, 1e-6);
      EXPECT_NEAR((*answers)[1].AsDouble(k), std::exp(x * x) * 2 * x, 1e-5);
      EXPECT_EQ((*answers)[2].AsDouble(k), 2 * x);
    }
    EXPECT_TRUE(SameBits(*predictor->Predict({given}), (*answers)[0]));
  }
  EXPECT_THAT(train::Predictor::Make(model_, {twice, twice}, {a}, host_.context)
                  .status()
                  .message(),
              HasSubstr("`twice` is an output twice"));
  EXPECT_THAT(
      train::Predictor::Make(model_, std::vector<Tensor>(), {a}, host_.context)
          .status()
          .message(),
      HasSubstr("there is no output"));
}

// What was made before an error is not taken for made.
TEST_F(PredictTest, AfterAnOutputThatIsAnError) {
  Tensor a = Input("a");
  Tensor good = Named(Exp(a), "good");
  Tensor other = Data(model_.graph, "other", NdArray::Of<float>({3}, {1, 2, 3}),
                      {.rows = {Dims{}, Dims{3}, Dims{}}});
  Tensor bad = Named(a + other, "bad");
  auto make = [&](const std::vector<Tensor>& outputs) {
    return train::Predictor::Make(model_, outputs, {a}, host_.context).status();
  };
  EXPECT_FALSE(make({good, bad}).ok());
  EXPECT_THAT(make({good, Named(good + 1, "more")}), IsOk());
}

// Each shape has its network; all read the parameters of the moment.
TEST_F(PredictTest, TableOfNetworksByShape) {
  int made = 0;
  auto net = [&](train::Model& model, absl::Span<const NdArray> values) {
    ++made;
    Tensor x = Data(model.graph, "x", values[0],
                    {.rows = {Dims{}, values[0].dims(), Dims{}}});
    Tensor w = Param(model.graph, "w", {.rows = {Dims{}, Dims{1}, Dims{}}},
                     DType::kF32, {});
    return train::NetCode{
        .outputs = {Named(PointMul(Einsum1("0 => 0", w), x), "y")},
        .inputs = {x}};
  };
  ASSERT_THAT(host_.context.Write("w", NdArray::Of<float>({1}, {2})), IsOk());
  train::PredictorTable table(net, host_.context, /*most=*/2);
  auto first = [&](int64_t size) {
    const NdArray x = NdArray::Of<float>({size}, std::vector<float>(size, 3));
    const auto answers = table.PredictAll({x});
    EXPECT_THAT(answers, IsOk());
    EXPECT_EQ((*answers)[0].size(), size);
    return (*answers)[0].AsDouble(size - 1);
  };
  EXPECT_EQ(first(2), 6);
  EXPECT_EQ(first(5), 6);
  EXPECT_EQ(first(2), 6);
  EXPECT_EQ(made, 2);
  ASSERT_THAT(host_.context.Write("w", NdArray::Of<float>({1}, {4})), IsOk());
  EXPECT_EQ(first(5), 12);
  EXPECT_EQ(first(2), 12);
  EXPECT_EQ(made, 2);
  EXPECT_EQ(first(7), 12);  // in the place of 5
  EXPECT_EQ(first(2), 12);
  EXPECT_EQ(made, 3);
  EXPECT_EQ(first(5), 12);
  EXPECT_EQ(made, 4);
  train::PredictorTable least(net, host_.context, /*most=*/0);
  for (int k = 0; k < 2; ++k) EXPECT_THAT(least.PredictAll({ones_}), IsOk());
  EXPECT_EQ(made, 5);
  // Of equal dims, but other dtypes.
  train::PredictorTable twice(
      [](train::Model& model, absl::Span<const NdArray> values) {
        Tensor x = Data(model.graph, "x", values[0],
                        {.rows = {Dims{}, values[0].dims(), Dims{}}});
        return train::NetCode{.outputs = {Named(x + x, "y")}, .inputs = {x}};
      },
      host_.context);
  for (const NdArray& x : {ones_, NdArray::Of<double>({2}, {1, 1}), ones_}) {
    const auto answers = twice.PredictAll({x});
    ASSERT_THAT(answers, IsOk());
    EXPECT_EQ((*answers)[0].dtype(), x.dtype());
  }
  // What the context does not have is an error, and no network.
  TestDevice other;
  EXPECT_THAT(train::PredictorTable(net, other.context)
                  .PredictAll({ones_})
                  .status()
                  .message(),
              HasSubstr("`w`"));
}

TEST_F(PredictTest, ErrorsNameTheInput) {
  Tensor a = Input("a");
  Tensor b = Input("b");
  EXPECT_THAT(Make(Named(a + a, "c"), {a, b}).status().message(),
              HasSubstr("`b` is no input of `c`"));
  absl::StatusOr<train::Predictor> predictor = Make(Named(a + b, "d"), {a, b});
  ASSERT_THAT(predictor, IsOk());
  EXPECT_THAT(predictor->Predict({ones_}).status().message(),
              HasSubstr("`d` has 2 inputs, not 1"));
  EXPECT_THAT(
      predictor->Predict({ones_, NdArray(DType::kF32, {3})}).status().message(),
      testing::AllOf(HasSubstr("`b`"), HasSubstr("f32[3]"),
                     HasSubstr("f32[2]")));
}

}  // namespace
}  // namespace ocannl
