// SPDX-License-Identifier: Apache-2.0
//
// Linear maps, embeddings, first values of parameters, states.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/norm.h"
#include "tests/blocks/block_check.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using train::Embedding;
using train::Linear;
using train::Mlp;
using train::ParamScope;

Tensor ApplyLinear(const ParamScope& scope, Tensor x) {
  return Linear(scope, {.outputs = Dims{3}})(x);
}

Tensor ApplyMlp(const ParamScope& scope, Tensor x) {
  return Mlp(scope, {.sizes = {6, 5, 2}})(x);
}

// x chooses between three vectors by its cells, as whole numbers.
Tensor ApplyEmbedding(const ParamScope& scope, Tensor x) {
  Embedding embedding(scope, {.count = 3, .size = 2});
  Tensor ids = Einsum1("b|i => b|", Floor(Mul(x, 1.5) + 1));
  return embedding(Convert(ids, DType::kI32));
}

TEST(LinearTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2}, {4}, ApplyLinear), "w:4->3 b:3 => 2|3");
  EXPECT_EQ(ShapesOf({2}, {4, 5}, ApplyLinear), "w:4,5->3 b:3 => 2|3");
  ExpectGradient({2}, {4}, ApplyLinear);
  ExpectSameBits({5}, {7}, ApplyLinear);
}

TEST(LinearTest, Values) {
  EXPECT_THAT(
      ValuesOf({1}, {2},
               {.x = {3, 4},
                .given = {{"w", {1, 0, 0, 1, 2, -1}}, {"b", {0, 0.5, 1}}}},
               ApplyLinear),
      ElementsAre(3, 4.5, 3));
}

TEST(MlpTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({7}, {4}, ApplyMlp),
            "layer1_w:4->6 layer1_b:6 layer2_w:6->5 layer2_b:5 layer3_w:5->2 "
            "layer3_b:2 => 7|2");
  ExpectGradient({3}, {4}, ApplyMlp);
  ExpectSameBits({5}, {7}, ApplyMlp);
}

TEST(EmbeddingTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({5}, {1}, ApplyEmbedding), "table:3->2 => 5|2");
  ExpectGradient({7}, {1}, ApplyEmbedding);
  ExpectSameBits({7}, {1}, ApplyEmbedding);
}

// What is out of range has no vector.
TEST(EmbeddingTest, Values) {
  auto ids = [](const ParamScope& scope, Tensor x) {
    return Embedding(scope, {.count = 3, .size = 2})(Convert(x, DType::kI32));
  };
  EXPECT_THAT(ValuesOf({4}, {},
                       {.x = {2, 0, 3, -1},
                        .given = {{"table", {1, 2, 3, 10, 20, 30}}}},
                       ids),
              ElementsAre(3, 30, 1, 10, 0, 0, 0, 0));
}

TEST(EmbeddingTest, CountOutOfRange) {
  EXPECT_THAT(ShapesOf({4}, {},
                       [](const ParamScope& scope, Tensor x) {
                         return Embedding(scope, {.count = 0, .size = 2})(
                             Convert(x, DType::kI32));
                       }),
              HasSubstr("a size of 0 is not positive"));
}

// The first values of a parameter of 100 inputs, which its use says, and 40
// outputs.
std::vector<float> FirstValues(const Initializer& init) {
  // Of the batch of unit vectors, the columns of w.
  std::vector<double> unit(10'000);
  for (int k = 0; k < 100; ++k) unit[101 * k] = 1;
  return ValuesOf(
      {100}, {100}, {.x = unit}, [&](const ParamScope& scope, Tensor x) {
        return Linear(scope,
                      {.outputs = Dims{40}, .bias = false, .init = init})(x);
      });
}

float Greatest(const std::vector<float>& values) {
  float greatest = 0;
  for (float value : values) {
    greatest = std::max(greatest, std::abs(value));
  }
  return greatest;
}

double StandardDeviation(const std::vector<float>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

// The inputs are counted although only the use of the parameter says them.
TEST(InitTest, BoundsAndDeviations) {
  using namespace train;  // NOLINT
  EXPECT_NEAR(Greatest(FirstValues(KaimingUniform())), 0.2449, 0.0005);
  EXPECT_LE(Greatest(FirstValues(KaimingUniform())), std::sqrt(6 / 100.));
  EXPECT_NEAR(Greatest(FirstValues(XavierUniform(1))), 0.2070, 0.0005);
  EXPECT_LE(Greatest(FirstValues(XavierUniform(1))), std::sqrt(6 / 140.));
  EXPECT_NEAR(Greatest(FirstValues(XavierUniform(9))), std::sqrt(6 / 460.),
              0.0005);
  EXPECT_NEAR(StandardDeviation(FirstValues(KaimingNormal())),
              std::sqrt(2 / 100.), 0.005);
  EXPECT_NEAR(StandardDeviation(FirstValues(XavierNormal(1))),
              std::sqrt(2 / 140.), 0.005);
  EXPECT_NEAR(StandardDeviation(FirstValues(NormalInit(0.02))), 0.02, 0.0006);
  EXPECT_THAT(FirstValues(ConstantInit(0.25)), testing::Each(0.25));
}

// The mean of the first values is 0: they are not one-sided.
TEST(InitTest, Centred) {
  double sum = 0;
  for (double value : FirstValues(train::KaimingUniform())) sum += value;
  EXPECT_NEAR(sum / 4000, 0, 5 * 0.2449 / std::sqrt(3. * 4000));
}

// Running statistics with the batches {1, 3} and {5, 9} in a channel, and twice
// as much in the other.
TEST(StateTest, BatchNormKeepsStatistics) {
  train::Model model;
  Graph& graph = model.graph;
  ParamScope scope{.graph = &graph, .name = "bn"};
  train::Training training{.step = graph.AddStatic("batch", 2)};
  ShapeSpec spec;
  spec[RowKind::kOutput] = Dims{2};
  Tensor batches =
      Data(graph, "x",
           NdArray::Of<float>({2, 2, 2}, {1, 2, 3, 6, 5, 10, 9, 18}), spec);
  train::BatchNorm norm(scope, {.momentum = 0.25});
  Tensor y = norm(Slice(batches, training.step), &training);
  Tensor loss = Named(Einsum1("...|... => |0", Square(y)), "loss");
  auto gradient = train::GradUpdate(model, loss);
  auto states = train::UpdateStates(model, training.updates);
  auto init = train::InitParams(model, loss);
  ASSERT_THAT(gradient, IsOk());
  ASSERT_THAT(states, IsOk());
  ASSERT_THAT(init, IsOk());

  const TestDevice host;
  auto first = ToRoutine(host.context,
                         train::Sequence("first", {*init, states->init}), {});
  ASSERT_THAT(first, IsOk());
  CHECK_OK(first->Run());
  auto step =
      ToRoutine(first->context(),
                train::Sequence("step", {*gradient, states->update}), {});
  ASSERT_THAT(step, IsOk());
  auto read = [&](const std::string& name) {
    auto array = host.context.Read(name);
    CHECK_OK(array);
    CHECK_EQ(array->size(), 2);
    return std::vector<double>{array->AsDouble(0), array->AsDouble(1)};
  };
  EXPECT_THAT(read("bn_running_mean"), ElementsAre(0, 0));
  EXPECT_THAT(read("bn_running_variance"), ElementsAre(1, 1));
  CHECK_OK(step->Set("batch", 0));
  CHECK_OK(step->Run());
  EXPECT_THAT(read("bn_running_mean"), ElementsAre(0.5, 1));
  EXPECT_THAT(read("bn_running_variance"), ElementsAre(1.25, 2.75));
  CHECK_OK(step->Set("batch", 1));
  CHECK_OK(step->Run());
  EXPECT_THAT(read("bn_running_mean"), ElementsAre(2.125, 4.25));
  EXPECT_THAT(read("bn_running_variance"), ElementsAre(2.9375, 10.0625));
}

}  // namespace
}  // namespace ocannl
