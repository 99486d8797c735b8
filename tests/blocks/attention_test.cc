// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/attention.h"

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/position.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/graph/model.h"
#include "tests/blocks/block_check.h"
#include "tests/support/every_code_is_text.h"

namespace ocannl {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;
using train::CausalMask;
using train::kInference;
using train::MultiHeadAttention;
using train::ParamScope;
using train::Positions;
using train::TransformerOptions;

Tensor Turned(const ParamScope& scope, Tensor x) {
  return train::Rope(scope, {.length = 2, .size = 4}, x);
}

ApplyBlock Attention(bool causal, std::optional<int64_t> rope_length) {
  return [=](const ParamScope& scope, Tensor x) {
    MultiHeadAttention attend(scope, {.size = 5,
                                      .heads = 2,
                                      .key_size = 4,
                                      .value_size = 3,
                                      .rope_length = rope_length});
    std::optional<Tensor> mask;
    if (causal) mask = CausalMask(*scope.graph, 3);
    return attend(x, x, mask, kInference);
  };
}

ApplyBlock Encoder(const TransformerOptions& options) {
  return [=](const ParamScope& scope, Tensor x) {
    train::Training training{.step = scope.graph->AddStatic("step", 10)};
    return train::EncoderBlock(scope, options)(x, std::nullopt, &training);
  };
}

// Of the sequence backwards as its memory.
ApplyBlock Decoder(const TransformerOptions& options) {
  return [=](const ParamScope& scope, Tensor x) {
    Tensor memory = Einsum1("b,s|d => b,s|d", Mul(x, x));
    return train::DecoderBlock(scope, options)(
        x, memory, CausalMask(*scope.graph, 3), kInference);
  };
}

// Tokens are the whole numbers in x + 1.
ApplyBlock Language(const TransformerOptions& options) {
  return [=](const ParamScope& scope, Tensor x) {
    train::DecoderOnly model(
        scope, {.vocabulary = 3, .length = 4, .layers = 2, .block = options});
    Tensor tokens = Floor(Mul(x, 1.5) + 1);
    return model(Convert(tokens, DType::kI32), kInference);
  };
}

const TransformerOptions kSmall{.size = 4, .heads = 2, .hidden = 6};

TEST(PositionTest, Sinusoidal) {
  auto table = [](const ParamScope& scope, Tensor x) {
    return x + train::SinusoidalPositions(scope, {.length = 3, .size = 4});
  };
  EXPECT_EQ(ShapesOf({2, 3}, {4}, table), "=> 2,3|4");
  std::vector<float> values =
      ValuesOf({3}, {4}, {.x = std::vector<double>(12)}, table);
  EXPECT_THAT(
      values,
      ElementsAre(0, 1, 0, 1, FloatNear(0.8415, 5e-5), FloatNear(0.5403, 5e-5),
                  FloatNear(0.01, 5e-5), FloatNear(0.99995, 5e-6),
                  FloatNear(0.9093, 5e-5), FloatNear(-0.4161, 5e-5),
                  FloatNear(0.02, 5e-5), FloatNear(0.9998, 5e-6)));
}

TEST(RopeTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({3, 2}, {4}, Turned), "=> 3,2|4");
  EXPECT_EQ(ShapesOf({3, 2}, {5, 4}, Turned), "=> 3,2|5,4");
  ExpectGradient({3, 2}, {2, 4}, Turned);
  ExpectSameBits({3, 2}, {2, 4}, Turned);
}

TEST(RopeTest, Values) {
  EXPECT_THAT(
      ValuesOf({2}, {4}, {.x = {5, 6, 7, 8, 5, 6, 7, 8}}, Turned),
      ElementsAre(5, 6, 7, 8, FloatNear(-2.3473, 5e-5), FloatNear(7.4492, 5e-5),
                  FloatNear(6.9197, 5e-5), FloatNear(8.0696, 5e-5)));
}

TEST(RopeTest, SizesThatMakeNoSense) {
  EXPECT_THAT(ShapesOf({2}, {3},
                       [](const ParamScope& scope, Tensor x) {
                         return train::Rope(scope / "r",
                                            {.length = 2, .size = 3}, x);
                       }),
              HasSubstr("): positions of length 2, size 3 and base 10000; "
                        "the size must be even, and all above 0"));
}

TEST(AttentionTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2, 3}, {5}, Attention(false, std::nullopt)),
            "query_w:5->2,4 query_b:2,4 key_w:5->2,4 key_b:2,4 value_w:5->2,3 "
            "value_b:2,3 out_w:2,3->5 out_b:5 => 2,3|5");
  ExpectGradient({2, 3}, {5}, Attention(false, std::nullopt));
  ExpectGradient({2, 3}, {5}, Attention(true, 3));
  ExpectSameBits({2, 3}, {5}, Attention(false, 3));
  ExpectSameBits({2, 3}, {5}, Attention(true, std::nullopt));
}

// One head of size 1, whose maps are the identity.
TEST(AttentionTest, Values) {
  auto attend = [](bool causal) {
    return [=](const ParamScope& scope, Tensor x) {
      MultiHeadAttention attention(
          scope, {.size = 1, .heads = 1, .key_size = 1, .bias = false});
      std::optional<Tensor> mask;
      if (causal) mask = CausalMask(*scope.graph, 2);
      return attention(x, x, mask, kInference);
    };
  };
  const BlockInputs inputs = {
      .x = {1, 2},
      .given = {
          {"query_w", {1}}, {"key_w", {1}}, {"value_w", {1}}, {"out_w", {1}}}};
  auto mean = [](double a, double b) {
    return (std::exp(a) + 2 * std::exp(b)) / (std::exp(a) + std::exp(b));
  };
  EXPECT_THAT(
      ValuesOf({2}, {1}, inputs, attend(false)),
      ElementsAre(FloatNear(mean(1, 2), 1e-6), FloatNear(mean(2, 4), 1e-6)));
  EXPECT_THAT(ValuesOf({2}, {1}, inputs, attend(true)),
              ElementsAre(1, FloatNear(mean(2, 4), 1e-6)));
}

// Scores shrink by the root of the key's size.
TEST(AttentionTest, ScoresAreScaled) {
  auto attend = [](const ParamScope& scope, Tensor x) {
    return MultiHeadAttention(
        scope,
        {.size = 1, .heads = 1, .key_size = 4, .value_size = 1, .bias = false})(
        x, x, std::nullopt, kInference);
  };
  // q k = 4 x^2, and half of it is the score.
  EXPECT_THAT(
      ValuesOf({2}, {1},
               {.x = {1, 0},
                .given = {{"query_w", {1, 1, 1, 1}},
                          {"key_w", {1, 1, 1, 1}},
                          {"value_w", {1}},
                          {"out_w", {1}}}},
               attend),
      ElementsAre(FloatNear(std::exp(2) / (std::exp(2) + 1), 1e-6), 0.5));
}

// One head of size 1, whose maps are the identity: softmax(1, 2) and (2, 4),
// divided by 2.
TEST(AttentionTest, Temperature) {
  auto attend = [](double temperature) {
    return [=](const ParamScope& scope, Tensor x) {
      return MultiHeadAttention(scope, {.size = 1,
                                        .heads = 1,
                                        .key_size = 1,
                                        .bias = false,
                                        .temperature = temperature})(
          x, x, std::nullopt, kInference);
    };
  };
  auto mean = [](double a, double b) {
    return (std::exp(a) + 2 * std::exp(b)) / (std::exp(a) + std::exp(b));
  };
  EXPECT_THAT(
      ValuesOf({2}, {1},
               {.x = {1, 2},
                .given = {{"query_w", {1}},
                          {"key_w", {1}},
                          {"value_w", {1}},
                          {"out_w", {1}}}},
               attend(2)),
      ElementsAre(FloatNear(mean(0.5, 1), 1e-6), FloatNear(mean(1, 2), 1e-6)));
  ExpectGradient({2, 3}, {1}, attend(2));
  ExpectSameBits({2, 3}, {1}, attend(0.7));
  EXPECT_THAT(ShapesOf({2, 3}, {1}, attend(0)),
              HasSubstr("the temperature is 0; it must be above 0"));
}

// A place that sees nothing finds 0, and has no part in any gradient.
TEST(AttentionTest, APlaceThatSeesNothing) {
  auto attend = [](const ParamScope& scope, Tensor x) {
    const Tensor places = Range(*scope.graph, 3, DType::kI32);
    // The place 0 sees none, and the others see all.
    const Tensor sees = Less(0, Einsum1("s => s|0->", places));
    return MultiHeadAttention(
        scope, {.size = 2, .heads = 1, .key_size = 2, .bias = false})(
        x, x, sees, kInference);
  };
  const std::vector<float> found = ValuesOf(
      {3}, {2},
      {.x = {1, 2, 3, -4, 5, 6}, .given = {{"value_w", {1, 0, 0, 1}}}}, attend);
  EXPECT_THAT(std::vector(found.begin(), found.begin() + 2), ElementsAre(0, 0));
  EXPECT_NE(found[2], 0);
  ExpectGradient({2, 3}, {2}, attend);
  ExpectSameBits({2, 3}, {2}, attend);
}

// Dropout is that of the weights, which do not sum to 1 afterwards: of four
// alike, each kept one counts 1/4 divided by the share that is kept.
TEST(AttentionTest, DropoutOfWeights) {
  auto attend = [](const ParamScope& scope, Tensor x) {
    train::Training training{.step = scope.graph->AddStatic("step", 10)};
    return MultiHeadAttention(
        scope,
        {.size = 1, .heads = 1, .key_size = 1, .bias = false, .dropout = 0.5})(
        x, x, std::nullopt, &training);
  };
  const std::vector<float> found = ValuesOf({16, 4}, {1},
                                            {.x = std::vector<double>(64, 1),
                                             .given = {{"query_w", {0}},
                                                       {"key_w", {0}},
                                                       {"value_w", {1}},
                                                       {"out_w", {1}}}},
                                            attend);
  std::map<float, int> counts;
  for (float value : found) ++counts[value];
  EXPECT_THAT(counts,
              ElementsAre(Pair(0, Gt(0)), Pair(0.5, Gt(0)), Pair(1, Gt(0)),
                          Pair(1.5, Gt(0)), Pair(2, Gt(0))));
  ExpectGradient({2, 3}, {1}, attend);
}

// Of scores and their exponentials, and of their gradients: weights are no
// array.
TEST(AttentionTest, ArraysOfAllPairsOfPlaces) {
  auto arrays = [](bool gradients) {
    train::Model model;
    const ParamScope scope{.graph = &model.graph, .name = "net"};
    const Tensor sequence = Einsum1(
        "s, d => s|d", MakeParam(scope, "x", Dims{40, 5}, Dims{}, nullptr));
    const MultiHeadAttention attend(scope,
                                    {.size = 5, .heads = 2, .key_size = 4});
    const Tensor found = attend(sequence, sequence, std::nullopt, kInference);
    absl::StatusOr<Assignments> code =
        gradients ? train::GradUpdateOfSum(model, found)
                  : train::Forward(model, found);
    CHECK_OK(code);
    if (gradients) {
      CHECK_OK(train::KeepGradients(train::Parameters(model, found), *code));
    }
    absl::StatusOr<LoopProgram> program = CompileProgram(*code, {});
    CHECK_OK(program);
    std::vector<std::string> names;
    for (const loop_ir::Buffer& buffer : program->buffers) {
      if (buffer.dims == Dims{40, 2, 40}) names.push_back(buffer.name);
    }
    return names;
  };
  EXPECT_THAT(arrays(false), SizeIs(2));
  EXPECT_THAT(arrays(true), SizeIs(4));
}

TEST(TransformerTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2, 3}, {4}, Encoder(kSmall)),
            "self_query_w:4->2,2 self_query_b:2,2 self_key_w:4->2,2 "
            "self_key_b:2,2 self_value_w:4->2,2 self_value_b:2,2 "
            "self_out_w:2,2->4 self_out_b:4 self_norm_scale:4 "
            "self_norm_shift:4 in_w:4->6 in_b:6 out_w:6->4 out_b:4 "
            "mlp_norm_scale:4 mlp_norm_shift:4 => 2,3|4");
  TransformerOptions dropping = kSmall;
  dropping.dropout = 0.2;
  TransformerOptions after = kSmall;
  after.pre_norm = false;
  ExpectGradient({2, 3}, {4}, Encoder(dropping));
  ExpectGradient({1, 3}, {4}, Encoder(after));
  ExpectSameBits({2, 3}, {4}, Encoder(dropping));
  ExpectGradient({2, 3}, {4}, Decoder(kSmall));
  ExpectGradient({1, 3}, {4}, Decoder(after));
  ExpectSameBits({1, 3}, {4}, Decoder(kSmall));
}

TEST(DecoderOnlyTest, ShapesGradientBits) {
  EXPECT_THAT(
      ShapesOf({2, 4}, {}, Language(kSmall)),
      testing::AllOf(
          testing::StartsWith("token_table:3->4 position_table:4->4 block1"),
          testing::EndsWith("norm_scale:4 norm_shift:4 => 2,4|3")));
  TransformerOptions turning = kSmall;
  turning.rope_length = 4;
  turning.pre_norm = false;
  EXPECT_THAT(ShapesOf({2, 4}, {}, Language(turning)),
              testing::Not(HasSubstr("position_table")));
  ExpectGradient({2, 4}, {}, Language(kSmall));
  ExpectGradient({1, 4}, {}, Language(turning));
  ExpectSameBits({2, 4}, {}, Language(kSmall));
}

// Tokens of the source and of the target are whole numbers in x.
Tensor Translated(const ParamScope& scope, const TransformerOptions& block,
                  Tensor x, bool loss) {
  const train::Transformer net(scope, {.source_vocabulary = 3,
                                       .target_vocabulary = 4,
                                       .source_length = 3,
                                       .target_length = 3,
                                       .encoder_layers = 1,
                                       .decoder_layers = 2,
                                       .block = block});
  auto tokens = [](Tensor numbers) {
    return Convert(Floor(Mul(numbers, 1.5) + 1), DType::kI32);
  };
  const Tensor source = tokens(x);
  const Tensor target = tokens(-x);
  if (!loss) return net(source, target, kInference);
  return net.Loss(source, target, source, {.label_smoothing = 0.1}, kInference);
}

ApplyBlock Whole(const TransformerOptions& block, bool loss) {
  return [=](const ParamScope& scope, Tensor x) {
    return Translated(scope, block, x, loss);
  };
}

TEST(WholeTransformerTest, ShapesOfLogitsAndLoss) {
  const std::string shapes = ShapesOf({2, 3}, {}, Whole(kSmall, false));
  EXPECT_THAT(shapes, testing::StartsWith(
                          "source_token_table:3->4 source_position_table:3->4 "
                          "target_token_table:4->4 target_position_table:3->4 "
                          "encoder_block1_self_query_w:4->2,2 "));
  EXPECT_THAT(shapes, HasSubstr(" encoder_norm_shift:4 decoder_block1_self_"));
  EXPECT_THAT(shapes, HasSubstr(" decoder_block2_cross_key_w:4->2,2 "));
  EXPECT_THAT(shapes, testing::EndsWith("decoder_norm_shift:4 => 2,3|4"));
  EXPECT_THAT(ShapesOf({2, 3}, {}, Whole(kSmall, true)),
              testing::EndsWith("=> 1"));
}

TEST(WholeTransformerTest, GradientBits) {
  TransformerOptions turning = kSmall;
  turning.rope_length = 3;
  turning.pre_norm = false;
  ExpectGradient({1, 3}, {}, Whole(kSmall, false));
  ExpectGradient({2, 3}, {}, Whole(kSmall, true));
  ExpectGradient({1, 3}, {}, Whole(turning, true));
  ExpectSameBits({2, 3}, {}, Whole(kSmall, true));
}

// Each place of the target depends on all of the source.
TEST(WholeTransformerTest, LooksAtTheWholeSource) {
  auto logits = [](double last) {
    return ValuesOf({1, 3}, {}, {.x = {0, 0, last}},
                    [](const ParamScope& scope, Tensor x) {
                      // Only the target's last place changes, too.
                      const Tensor y = Translated(scope, kSmall, x, false);
                      return Einsum1("b, 0|v => b|v", y);
                    });
  };
  EXPECT_NE(logits(0.9), logits(0));
}

// What comes later in the sequence changes no logits before it.
TEST(DecoderOnlyTest, LooksBackOnly) {
  auto logits = [](double last) {
    std::vector<float> all =
        ValuesOf({1, 4}, {}, {.x = {0, -0.5, 0.9, last}}, Language(kSmall));
    return all;
  };
  std::vector<float> a = logits(0.9), b = logits(-0.9);
  EXPECT_NE(a, b);
  a.resize(9);
  b.resize(9);
  EXPECT_EQ(a, b);
}

}  // namespace
}  // namespace ocannl
