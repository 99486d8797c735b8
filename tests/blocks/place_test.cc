// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the use of a block is told at the line of its user.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/blocks/conv.h"
#include "ocannl/train/blocks/embedding.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/position.h"
#include "ocannl/train/blocks/softmax.h"
#include "ocannl/train/blocks/state.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/blocks/vision.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using train::kInference;
using train::ParamScope;

class PlaceTest : public ::testing::Test {
 protected:
  Tensor Zeros(const char* name, Dims batch, Dims output) {
    ShapeSpec spec;
    Dims dims = batch;
    dims.insert(dims.end(), output.begin(), output.end());
    spec[RowKind::kBatch] = std::move(batch);
    spec[RowKind::kOutput] = std::move(output);
    spec[RowKind::kInput] = Dims{};
    return Data(graph_, name, NdArray(DType::kF32, dims), spec);
  }

  std::string Message(Tensor tensor) {
    Shapes shapes;
    return std::string(InferShapes(graph_, {tensor.id}, shapes).message());
  }

  // That the message is of `call` in this file, and names no other file.
  void ExpectHere(Tensor wrong, const std::string& call) {
    std::string message = Message(wrong);
    EXPECT_THAT(message, HasSubstr(absl::StrCat("`", call, "` (place_test")));
    size_t at = 0;
    while ((at = message.find(".cc:", at + 1)) != std::string::npos) {
      EXPECT_TRUE(absl::EndsWith(message.substr(0, at), "place_test"))
          << message;
    }
    EXPECT_FALSE(absl::StrContains(message, ".h:")) << message;
  }

  Graph graph_;
  ParamScope scope_{.graph = &graph_, .name = "net"};
  Tensor x_ = Zeros("x", {4}, {3});
  Tensor y_ = Zeros("y", {4}, {2});
  Tensor one_ = Zeros("one", {}, {});
};

TEST_F(PlaceTest, CrossEntropyNamesItsOperands) {
  const Tensor loss = train::CrossEntropy(x_, y_, {});
  const std::string line = absl::StrCat(__LINE__ - 1);
  const std::string message = Message(loss);
  EXPECT_THAT(
      message,
      StartsWith(absl::StrCat(
          "shape error in `select(y == 0, 0, ...)` in `CrossEntropy(x, y)` "
          "(place_test.cc:",
          line, "): the output row of `y == 0` is 2, ")));
  EXPECT_THAT(message, HasSubstr("\n  x : 4|3\n  y : 4|2\n"));
}

TEST_F(PlaceTest, MeansTakeFloats) {
  const Tensor whole = Convert(x_, DType::kI32);
  EXPECT_THAT(Message(train::Mean("v => 0", whole)),
              HasSubstr("it takes floats, and i32(x) is i32; convert it: "
                        "f32(i32(x)), in C++ "));
  EXPECT_THAT(Message(train::AvgPool2d(whole, train::kHalve)),
              HasSubstr("it takes floats"));
}

TEST_F(PlaceTest, Functions) {
  ExpectHere(train::CrossEntropy(x_, y_, {}), "CrossEntropy(x, y)");
  ExpectHere(train::MeanSquaredError(x_, y_), "MeanSquaredError(x, y)");
  ExpectHere(train::Softmax("v => 0", x_), "Softmax(\"v => 0\", x)");
  ExpectHere(train::LogSoftmax("v => 0", x_), "LogSoftmax(\"v => 0\", x)");
  ExpectHere(train::MaskedSoftmax("...|v => ...|0", x_, Less(y_, 1)),
             "MaskedSoftmax(\"...|v => ...|0\", x, y < 1)");
  ExpectHere(train::Mean("v => 0", x_), "Mean(\"v => 0\", x)");
  ExpectHere(train::MaxPool2d(x_, train::kHalve), "MaxPool2d(x)");
  ExpectHere(train::AvgPool2d(x_, train::kHalve), "AvgPool2d(x)");
  ExpectHere(train::GlobalAvgPool2d(x_), "GlobalAvgPool2d(x)");
  train::Training training{.step = graph_.AddStatic("step", std::nullopt)};
  ExpectHere(train::Rope(scope_, {.length = 5, .size = 2}, x_), "Rope(x)");
  EXPECT_THAT(Message(train::Dropout(x_, 2, &training)),
              HasSubstr("dropout of `x`"));
}

TEST_F(PlaceTest, Layers) {
  auto both = [&](auto layer) { return layer(x_) + layer(y_) + one_; };
  ExpectHere(both(train::Linear(scope_, {})), "Linear(y)");
  ExpectHere(both(train::Mlp(scope_, {.sizes = {2, 2}})), "Mlp(y)");
  ExpectHere(both(train::RmsNorm(scope_)), "RmsNorm(y)");
  ExpectHere(both(train::LayerNorm(scope_)), "LayerNorm(y)");
  train::BatchNorm norm(scope_);
  ExpectHere(norm(x_, kInference) + norm(y_, kInference), "BatchNorm(y)");
  train::BatchNorm wrong(scope_, {.momentum = 2});
  ExpectHere(wrong(x_, kInference), "BatchNorm(x)");
  ExpectHere(train::Embedding(scope_, {.count = 9, .size = 2})(x_),
             "Embedding(x)");
  ExpectHere(train::Conv2d(scope_, {.channels = 2})(x_), "Conv2d(x)");
  ExpectHere(train::DepthwiseSeparableConv2d(scope_, {.channels = 2})(x_),
             "DepthwiseSeparableConv2d(x)");
}

TEST_F(PlaceTest, Networks) {
  train::MultiHeadAttention attend(scope_,
                                   {.size = 4, .heads = 2, .key_size = 2});
  ExpectHere(attend(x_, one_, std::nullopt, kInference),
             "MultiHeadAttention(x, one)");
  const train::TransformerOptions options{.size = 8, .heads = 2, .hidden = 4};
  ExpectHere(train::EncoderBlock(scope_, options)(x_, std::nullopt, kInference),
             "EncoderBlock(x)");
  ExpectHere(
      train::DecoderBlock(scope_, options)(x_, x_, std::nullopt, kInference),
      "DecoderBlock(x, x)");
  train::DecoderOnly decoder(
      scope_, {.vocabulary = 5, .length = 4, .layers = 1, .block = options});
  ExpectHere(decoder(x_, kInference), "DecoderOnly(x)");
  train::Transformer transformer(scope_, {.source_vocabulary = 5,
                                          .target_vocabulary = 5,
                                          .source_length = 4,
                                          .target_length = 4,
                                          .encoder_layers = 1,
                                          .decoder_layers = 1,
                                          .block = options});
  ExpectHere(transformer(x_, y_, kInference), "Transformer(x, y)");
  train::Decoding decoding{
      .position = graph_.AddStatic("position", 4), .length = 4, .batch = {4}};
  ExpectHere(transformer.Step(x_, y_, decoding), "Transformer(x, y)");
  ExpectHere(decoder.Step(x_, decoding), "DecoderOnly(x)");
  ExpectHere(train::LeNet(scope_)(x_), "LeNet(x)");
  ExpectHere(train::ConvBatchNorm(scope_, {.channels = 2})(x_, kInference),
             "ConvBatchNorm(x)");
  ExpectHere(train::ResNetBlock(scope_, {.channels = 2})(x_, kInference),
             "ResNetBlock(x)");
  ExpectHere(train::VggBlock(scope_, {.channels = 2})(x_), "VggBlock(x)");
  ExpectHere(train::MobileCnn(scope_)(x_, kInference), "MobileCnn(x)");
  ExpectHere(train::SokobanCnn(scope_)(x_, kInference).value, "SokobanCnn(x)");
}

TEST_F(PlaceTest, Parameters) {
  const Tensor y = train::Linear(scope_, {})(train::Linear(scope_, {})(x_));
  EXPECT_THAT(Message(y),
              StartsWith(absl::StrCat("You forgot to specify the hidden "
                                      "dimension(s) of `net_w` (place_test.cc:",
                                      __LINE__ - 4, ")")));
}

}  // namespace
}  // namespace ocannl
