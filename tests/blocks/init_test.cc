// SPDX-License-Identifier: Apache-2.0
//
// First values by name: their bounds and standard deviations. 1 s.
#include "ocannl/train/blocks/init.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/conv.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using train::ParamScope;

// The first values of the parameters of a block.
class FirstValues {
 public:
  explicit FirstValues(const std::function<Tensor(const ParamScope&)>& apply) {
    const Tensor result = apply({.graph = &model_.graph, .name = ""});
    CHECK_OK(train::Forward(model_, result));
    absl::StatusOr<Assignments> init = train::InitParams(model_, result);
    CHECK_OK(init);
    absl::StatusOr<Routine> routine = ToRoutine(host_.context, *init, {});
    CHECK_OK(routine);
    CHECK_OK(routine->Run());
  }

  std::vector<float> Of(const std::string& name) const {
    absl::StatusOr<NdArray> array = host_.context.Read(name);
    CHECK_OK(array);
    return {array->values<float>().begin(), array->values<float>().end()};
  }

  // Whether the cells are spread in [-bound, bound).
  void ExpectUniform(const std::string& name, double bound) const {
    const std::vector<float> cells = Of(name);
    const auto [least, most] = std::minmax_element(cells.begin(), cells.end());
    const double end = 20 * bound / static_cast<double>(cells.size());
    EXPECT_GE(*least, -bound) << name;
    EXPECT_LT(*most, bound) << name;
    EXPECT_NEAR(*least, -bound, end) << name;
    EXPECT_NEAR(*most, bound, end) << name;
  }

  void ExpectDeviation(const std::string& name, double deviation) const {
    double squares = 0;
    const std::vector<float> cells = Of(name);
    for (float cell : cells) squares += double{cell} * cell;
    const double is = std::sqrt(squares / static_cast<double>(cells.size()));
    EXPECT_NEAR(is, deviation, 0.1 * deviation) << name;
  }

  void ExpectZero(const std::string& name) const {
    for (float cell : Of(name)) EXPECT_EQ(cell, 0) << name;
  }

 private:
  train::Model model_;
  TestDevice host_;
};

Tensor Zeros(const ParamScope& scope, const Dims& batch, const Dims& outputs) {
  Shape shape;
  shape[RowKind::kBatch] = batch;
  shape[RowKind::kOutput] = outputs;
  return Literal(*scope.graph, shape,
                 std::vector<float>(NumElements(shape.dims()), 0));
}

// As torch.nn.Linear(25, 400) and torch.nn.Conv2d(6, 200, 5, groups=2).
TEST(InitTest, LayersOfPyTorch) {
  const FirstValues linear([](const ParamScope& scope) {
    return train::Linear(scope,
                         {.outputs = Dims{400}, .init = train::TorchLinear()})(
        Zeros(scope, {}, {25}));
  });
  linear.ExpectUniform("w", 0.2);
  linear.ExpectUniform("b", 0.2);
  const FirstValues conv([](const ParamScope& scope) {
    return train::Conv2d(scope, {.channels = 200,
                                 .kernel = 5,
                                 .init = train::TorchConv(),
                                 .groups = 2,
                                 .inputs = 6})(Zeros(scope, {1}, {5, 5, 6}));
  });
  conv.ExpectUniform("w", 1 / std::sqrt(75.));
  conv.ExpectUniform("b", 1 / std::sqrt(75.));
}

TEST(InitTest, WeightsAndBiasesAreChosenApart) {
  const FirstValues linear([](const ParamScope& scope) {
    return train::Mlp(scope,
                      {.sizes = {300, 100},
                       .init = {train::KaimingNormal(), train::TorchBias()}})(
        Zeros(scope, {}, {8}));
  });
  linear.ExpectDeviation("layer1_w", 0.5);
  linear.ExpectUniform("layer1_b", 1 / std::sqrt(8.));
  linear.ExpectUniform("layer2_b", 1 / std::sqrt(300.));
  const FirstValues plain([](const ParamScope& scope) {
    return train::Linear(scope, {.outputs = Dims{9}, .init = [](Tensor param) {
                                   return train::ConstantInit(3)(param);
                                 }})(Zeros(scope, {}, {2}));
  });
  EXPECT_EQ(plain.Of("w"), std::vector<float>(18, 3));
  plain.ExpectZero("b");
}

FirstValues OfDecoder(const train::TransformerInit& init) {
  return FirstValues([&](const ParamScope& scope) {
    const Tensor tokens = Convert(Zeros(scope, {2, 4}, {}), DType::kI32);
    return train::DecoderOnly(
        scope, {.vocabulary = 50,
                .length = 4,
                .layers = 2,
                .block = {.size = 64, .heads = 4, .hidden = 96, .init = init}})(
        tokens, train::kInference);
  });
}

TEST(InitTest, Transformers) {
  const FirstValues gpt = OfDecoder(train::Gpt2Init(2));
  gpt.ExpectDeviation("token_table", 0.02);
  gpt.ExpectDeviation("position_table", 0.02);
  gpt.ExpectDeviation("block2_self_query_w", 0.02);
  gpt.ExpectDeviation("block2_self_out_w", 0.01);
  gpt.ExpectDeviation("block2_in_w", 0.02);
  gpt.ExpectDeviation("block2_out_w", 0.01);
  gpt.ExpectZero("block1_in_b");
  const FirstValues torch = OfDecoder(train::TorchTransformerInit());
  torch.ExpectDeviation("token_table", 1);
  torch.ExpectUniform("block1_self_key_w", std::sqrt(6. / (64 + 3 * 64)));
  torch.ExpectUniform("block1_self_out_w", std::sqrt(6. / 128));
  torch.ExpectZero("block1_self_out_b");
  torch.ExpectUniform("block1_in_w", std::sqrt(6. / (64 + 96)));
  torch.ExpectUniform("block1_in_b", 1 / std::sqrt(64.));
  torch.ExpectUniform("block1_out_b", 1 / std::sqrt(96.));
  const FirstValues ours = OfDecoder({});
  ours.ExpectUniform("block1_self_key_w", std::sqrt(6. / 128));
  ours.ExpectZero("block1_in_b");
}

}  // namespace
}  // namespace ocannl
