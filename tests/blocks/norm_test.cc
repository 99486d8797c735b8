// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/norm.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/blocks/transformer.h"
#include "tests/blocks/block_check.h"
#include "tests/support/every_code_is_text.h"

namespace ocannl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using train::BatchNorm;
using train::kInference;
using train::LayerNorm;
using train::ParamScope;
using train::RmsNorm;

MATCHER(IsNear, "") {
  return std::abs(std::get<0>(arg) - std::get<1>(arg)) < 2e-6;
}

Tensor ApplyLayerNorm(const ParamScope& scope, Tensor x) {
  return LayerNorm(scope)(x);
}

Tensor ApplyRmsNorm(const ParamScope& scope, Tensor x) {
  return RmsNorm(scope)(x);
}

Tensor TrainBatchNorm(const ParamScope& scope, Tensor x) {
  train::Training training{.step = scope.graph->AddStatic("step", 10)};
  return BatchNorm(scope)(x, &training);
}

Tensor UseBatchNorm(const ParamScope& scope, Tensor x) {
  return BatchNorm(scope)(x, kInference);
}

Tensor TrainDropout(const ParamScope& scope, Tensor x) {
  train::Training training{.step = scope.graph->AddStatic("step", 10)};
  return train::Dropout(x, 0.25, &training);
}

TEST(LayerNormTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2, 3}, {4}, ApplyLayerNorm), "scale:4 shift:4 => 2,3|4");
  EXPECT_EQ(ShapesOf({2}, {3, 4}, ApplyLayerNorm),
            "scale:3,4 shift:3,4 => 2|3,4");
  ExpectGradient({2, 3}, {4}, ApplyLayerNorm);
  ExpectGradient({2}, {2, 3}, ApplyLayerNorm);
  ExpectSameBits({3, 5}, {37}, ApplyLayerNorm);
}

// The mean is not a sum, the variance is divided by the number of cells, and
// each element of the batch is on its own.
TEST(LayerNormTest, Values) {
  const double unit = 1 / std::sqrt(1.25 + 1e-5);
  const std::vector<double> row = {-1.5 * unit, -0.5 * unit, 0.5 * unit,
                                   1.5 * unit};
  std::vector<double> expected = row;
  expected.insert(expected.end(), row.begin(), row.end());
  EXPECT_THAT(
      ValuesOf({2}, {4}, {.x = {1, 2, 3, 4, 11, 12, 13, 14}}, ApplyLayerNorm),
      Pointwise(IsNear(), expected));
  // A row of equal numbers has no variance.
  EXPECT_THAT(ValuesOf({1}, {2},
                       {.x = {7, 7},
                        .given = {{"scale", {3, 3}}, {"shift", {0.5, -1}}}},
                       ApplyLayerNorm),
              ElementsAre(0.5, -1));
}

// The epsilon, which is less than any f8e4m3, counts.
TEST(LayerNormTest, NarrowFloatsWithoutVariance) {
  for (DType dtype : kDTypes) {
    if (!IsNarrow(dtype)) continue;
    auto apply = [&](const ParamScope& scope, Tensor x) {
      ParamScope narrow = scope;
      narrow.dtype = dtype;
      return Convert(LayerNorm(narrow)(Convert(x, dtype)), *scope.dtype);
    };
    EXPECT_THAT(ValuesOf({1}, {2}, {.x = {7, 7}}, apply), Each(0))
        << Name(dtype);
  }
}

// A row of small numbers has a variance beside which 1e-5 is not small.
TEST(LayerNormTest, EpsilonIsAnOption) {
  auto bert = [](const ParamScope& scope, Tensor x) {
    return LayerNorm(scope, 1e-12)(x);
  };
  EXPECT_THAT(ValuesOf({1}, {2}, {.x = {1e-3, -1e-3}}, bert),
              Pointwise(IsNear(), std::vector<double>{1, -1}));
  const double unit = 1 / std::sqrt(1 + 10);
  EXPECT_THAT(ValuesOf({1}, {2}, {.x = {1e-3, -1e-3}}, ApplyLayerNorm),
              Pointwise(IsNear(), std::vector<double>{unit, -unit}));
}

// The norms after each part of a block that leaves x as it is: of cells of
// 1/1000, beside whose variance of 1e-6 the epsilon of 1e-5 is not small.
TEST(TransformerTest, EpsilonOfAllNorms) {
  auto apply = [](double epsilon, bool pre_norm) {
    return [=](const ParamScope& scope, Tensor x) {
      const train::TransformerOptions options = {.size = 4,
                                                 .heads = 2,
                                                 .hidden = 6,
                                                 .pre_norm = pre_norm,
                                                 .norm_epsilon = epsilon};
      Tensor y = train::Encoder(scope, 1, options)(x, std::nullopt, kInference);
      return train::DecoderBlock(scope / "decoder", options)(y, y, std::nullopt,
                                                             kInference);
    };
  };
  const std::vector<double> x = {1e-3, -1e-3, 1e-3, -1e-3};
  std::map<std::string, std::vector<double>> silent;
  for (std::string block : {"block1_", "decoder_"}) {
    silent[block + "out_w"] = std::vector<double>(24);
    for (std::string part : {"self_out_w", "cross_out_w"}) {
      if (block + part == "block1_cross_out_w") continue;
      silent[block + part] = std::vector<double>(16);
    }
  }
  const BlockInputs inputs{.x = x, .given = silent};
  EXPECT_THAT(ValuesOf({1, 1}, {4}, inputs, apply(1e-12, false)),
              ElementsAre(FloatNear(1, 1e-5), FloatNear(-1, 1e-5),
                          FloatNear(1, 1e-5), FloatNear(-1, 1e-5)));
  // Before each part, nothing but the norm of the stack changes x.
  EXPECT_THAT(ValuesOf({1, 1}, {4}, inputs, apply(1e-12, true)),
              ElementsAre(FloatNear(1, 1e-5), FloatNear(-1, 1e-5),
                          FloatNear(1, 1e-5), FloatNear(-1, 1e-5)));
  // Each of five norms divides by sqrt(variance + 1).
  double cell = 1e-3;
  for (int norm = 0; norm < 5; ++norm) cell /= std::sqrt(cell * cell + 1);
  EXPECT_THAT(ValuesOf({1, 1}, {4}, inputs, apply(1, false)),
              ElementsAre(FloatNear(cell, 1e-9), FloatNear(-cell, 1e-9),
                          FloatNear(cell, 1e-9), FloatNear(-cell, 1e-9)));
}

TEST(RmsNormTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2}, {4}, ApplyRmsNorm), "scale:4 => 2|4");
  ExpectGradient({2}, {4}, ApplyRmsNorm);
  ExpectSameBits({5}, {19}, ApplyRmsNorm);
}

TEST(RmsNormTest, Values) {
  const double unit = 1 / std::sqrt(12.5 + 1e-5);
  EXPECT_THAT(ValuesOf({1}, {2}, {.x = {3, 4}, .given = {{"scale", {1, 2}}}},
                       ApplyRmsNorm),
              Pointwise(IsNear(), std::vector<double>{3 * unit, 8 * unit}));
}

TEST(BatchNormTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({8}, {3}, TrainBatchNorm), "scale:3 shift:3 => 8|3");
  EXPECT_EQ(ShapesOf({2}, {5, 6, 3}, TrainBatchNorm),
            "scale:3 shift:3 => 2|5,6,3");
  EXPECT_EQ(ShapesOf({2}, {5, 6, 3}, UseBatchNorm),
            "scale:3 shift:3 running_mean:3 running_variance:3 => 2|5,6,3");
  ExpectGradient({5}, {3}, TrainBatchNorm);
  ExpectGradient({2}, {2, 3, 2}, TrainBatchNorm);
  ExpectGradient({2}, {2, 3, 2}, UseBatchNorm);
  ExpectSameBits({3}, {4, 5, 17}, TrainBatchNorm);
  ExpectSameBits({3}, {4, 5, 17}, UseBatchNorm);
}

// Of the whole batch and image, each channel on its own, by a biased variance.
TEST(BatchNormTest, Values) {
  const double unit = 1 / std::sqrt(1.25 + 1e-5);
  const double tens = 10 / std::sqrt(125 + 1e-5);
  EXPECT_THAT(ValuesOf({2}, {2, 1, 2}, {.x = {1, 10, 2, 20, 3, 30, 4, 40}},
                       TrainBatchNorm),
              Pointwise(IsNear(), std::vector<double>{-1.5 * unit, -1.5 * tens,
                                                      -0.5 * unit, -0.5 * tens,
                                                      0.5 * unit, 0.5 * tens,
                                                      1.5 * unit, 1.5 * tens}));
  // In use, the statistics of the batch do not matter.
  const double used = 2 / std::sqrt(4 + 1e-5);
  EXPECT_THAT(
      ValuesOf({2}, {1},
               {.x = {5, 7},
                .given = {{"running_mean", {3}},
                          {"running_variance", {4}},
                          {"scale", {2}},
                          {"shift", {1}}}},
               UseBatchNorm),
      Pointwise(IsNear(), std::vector<double>{2 * used + 1, 4 * used + 1}));
}

TEST(BatchNormTest, MomentumOutOfRange) {
  EXPECT_THAT(ShapesOf({2}, {3},
                       [](const ParamScope& scope, Tensor x) {
                         BatchNorm norm(scope / "bn", {.momentum = 1.5});
                         return norm(x, kInference);
                       }),
              HasSubstr("): momentum is 1.5; it must be in [0, 1]"));
}

TEST(DropoutTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2}, {4}, TrainDropout), "=> 2|4");
  ExpectGradient({5}, {9}, TrainDropout);
  ExpectSameBits({5}, {19}, TrainDropout);
}

TEST(DropoutTest, KeepsTheMean) {
  const std::vector<double> x(10'000, 3);
  int64_t kept = 0;
  for (double value : ValuesOf({100}, {100}, {.x = x}, TrainDropout)) {
    EXPECT_TRUE(value == 0 || value == 4) << value;
    kept += value != 0;
  }
  EXPECT_NEAR(kept, 7500, 5 * std::sqrt(10'000 * 0.25 * 0.75));
}

TEST(DropoutTest, AnotherMaskInEachStep) {
  const std::vector<double> x(100, 3);
  auto at = [&](int64_t step) {
    return ValuesOf({1}, {100}, {.x = x, .statics = {step}}, TrainDropout);
  };
  EXPECT_EQ(at(4), at(4));
  EXPECT_NE(at(4), at(5));
  // And in each block.
  EXPECT_NE(at(4), ValuesOf({1}, {100}, {.x = x, .statics = {4}},
                            [](const ParamScope& scope, Tensor t) {
                              scope.graph->NextRandom();
                              return TrainDropout(scope, t);
                            }));
}

TEST(DropoutTest, NothingInUse) {
  EXPECT_THAT(ValuesOf({1}, {3}, {.x = {1, 2, 3}},
                       [](const ParamScope&, Tensor x) {
                         return Mul(train::Dropout(x, 0.5, kInference), 1);
                       }),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(ShapesOf({2}, {3},
                       [](const ParamScope&, Tensor x) {
                         return train::Dropout(x, 1, kInference);
                       }),
              HasSubstr("is 1; it must be in [0, 1)"));
}

}  // namespace
}  // namespace ocannl
