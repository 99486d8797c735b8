// SPDX-License-Identifier: Apache-2.0
//
// What a Predictor answers, and what it says of inputs that are none.
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
