// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/vision.h"

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/tensor/arrange.h"
#include "ocannl/train/blocks/conv.h"
#include "tests/blocks/block_check.h"
#include "tests/support/every_code_is_text.h"

namespace ocannl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using train::Conv2d;
using train::Conv2dOptions;
using train::kHalve;
using train::Padding;
using train::ParamScope;
using train::WindowOptions;

std::vector<double> Range(int64_t count) {
  std::vector<double> range;
  for (int64_t k = 0; k < count; ++k) range.push_back(static_cast<double>(k));
  return range;
}

ApplyBlock Conv(const Conv2dOptions& options) {
  return [=](const ParamScope& scope, Tensor x) {
    return Conv2d(scope, options)(x);
  };
}

ApplyBlock MaxPool(const WindowOptions& windows) {
  return [=](const ParamScope&, Tensor x) { return MaxPool2d(x, windows); };
}

ApplyBlock AvgPool(const WindowOptions& windows) {
  return [=](const ParamScope&, Tensor x) { return AvgPool2d(x, windows); };
}

ApplyBlock Separable(const Conv2dOptions& options) {
  return [=](const ParamScope& scope, Tensor x) {
    return train::DepthwiseSeparableConv2d(scope, options)(x);
  };
}

// In training; without a norm's statistics the same as in use.
template <class Block, class Options>
ApplyBlock Trained(const Options& options) {
  return [=](const ParamScope& scope, Tensor x) {
    train::Training training{.step = scope.graph->AddStatic("step", 10)};
    return Block(scope, options)(x, &training);
  };
}

Tensor ApplyLeNet(const ParamScope& scope, Tensor x) {
  return train::LeNet(scope, {.channels1 = 2,
                              .channels2 = 3,
                              .hidden1 = 5,
                              .hidden2 = 4,
                              .classes = 3})(x);
}

Tensor ApplyVgg(const ParamScope& scope, Tensor x) {
  return train::VggBlock(scope, {.channels = 3})(x);
}

constexpr WindowOptions kThrees = {.kernel = 3, .stride = 2};

TEST(Conv2dTest, Shapes) {
  const Conv2dOptions same{.channels = 4};
  EXPECT_EQ(ShapesOf({2}, {5, 5, 3}, Conv(same)), "w:3,3,3->4 b:4 => 2|5,5,4");
  Conv2dOptions valid = same;
  valid.padding = Padding::kValid;
  valid.bias = false;
  EXPECT_EQ(ShapesOf({2}, {5, 5, 3}, Conv(valid)), "w:3,3,3->4 => 2|3,3,4");
  Conv2dOptions halving = same;
  halving.stride = 2;
  EXPECT_EQ(ShapesOf({2}, {6, 6, 1}, Conv(halving)),
            "w:3,3,1->4 b:4 => 2|3,3,4");
  valid.stride = 2;
  EXPECT_EQ(ShapesOf({2}, {9, 9, 3}, Conv(valid)), "w:3,3,3->4 => 2|4,4,4");
  EXPECT_EQ(ShapesOf({2}, {10, 10, 3}, Conv(valid)), "w:3,3,3->4 => 2|4,4,4");
  valid.stride = 1;
  valid.dilation = 2;
  EXPECT_EQ(ShapesOf({2}, {9, 7, 3}, Conv(valid)), "w:3,3,3->4 => 2|5,3,4");
  valid.kernel = 0;
  EXPECT_THAT(ShapesOf({2}, {9, 7, 3}, Conv(valid)),
              HasSubstr("cannot have 0 cells"));
}

TEST(Conv2dTest, GradientBits) {
  Conv2dOptions options{.channels = 3};
  ExpectGradient({2}, {4, 5, 2}, Conv(options));
  ExpectSameBits({2}, {8, 6, 5}, Conv(options));
  options.stride = 2;
  ExpectGradient({1}, {4, 6, 2}, Conv(options));
  ExpectSameBits({2}, {8, 6, 5}, Conv(options));
  options.padding = Padding::kValid;
  options.dilation = 2;
  ExpectGradient({1}, {5, 7, 2}, Conv(options));
  ExpectSameBits({2}, {9, 7, 5}, Conv(options));
}

TEST(Conv2dTest, Values) {
  Conv2dOptions options{.channels = 1, .padding = Padding::kValid};
  const std::vector<double> ones(9, 1);
  EXPECT_THAT(ValuesOf({1}, {4, 4, 1},
                       {.x = Range(16), .given = {{"w", ones}, {"b", {0.5}}}},
                       Conv(options)),
              ElementsAre(45.5, 54.5, 81.5, 90.5));
  options.padding = Padding::kSame;
  EXPECT_THAT(
      ValuesOf({1}, {2, 2, 1}, {.x = {1, 2, 3, 4}, .given = {{"w", Range(9)}}},
               Conv(options)),
      ElementsAre(4 * 1 + 5 * 2 + 7 * 3 + 8 * 4, 3 * 1 + 4 * 2 + 6 * 3 + 7 * 4,
                  1 * 1 + 2 * 2 + 4 * 3 + 5 * 4,
                  0 * 1 + 1 * 2 + 3 * 3 + 4 * 4));
}

// Each group of channels is a convolution of its own.
TEST(Conv2dTest, Groups) {
  Conv2dOptions options{
      .channels = 4, .padding = Padding::kValid, .groups = 2, .inputs = 6};
  EXPECT_EQ(ShapesOf({2}, {5, 5, 6}, Conv(options)),
            "w:3,3,3->2,2 b:4 => 2|3,3,4");
  ExpectGradient({2}, {4, 5, 6}, Conv(options));
  ExpectSameBits({2}, {6, 5, 6}, Conv(options));
  options.padding = Padding::kSame;
  options.stride = 2;
  ExpectGradient({2}, {4, 6, 6}, Conv(options));
  ExpectSameBits({2}, {8, 6, 6}, Conv(options));
  EXPECT_THAT(ShapesOf({2}, {5, 5, 4}, Conv(options)),
              HasSubstr("in `Conv2d("));
  options = {
      .channels = 4, .kernel = 1, .bias = false, .groups = 2, .inputs = 4};
  // w has cells [group, channel of the group, input of the group].
  EXPECT_THAT(ValuesOf({1}, {1, 1, 4},
                       {.x = {1, 10, 100, 1000}, .given = {{"w", Range(8)}}},
                       Conv(options)),
              ElementsAre(10, 32, 5400, 7600));
  options.groups = 3;
  EXPECT_THAT(ShapesOf({2}, {5, 5, 4}, Conv(options)),
              HasSubstr("3 groups of 4 inputs and 4 channels; give"));
}

// As many groups as channels are what the depthwise convolution does.
TEST(Conv2dTest, DepthwiseIsGroups) {
  auto separable = [](const ParamScope& scope, Tensor x) {
    return train::DepthwiseSeparableConv2d(scope,
                                           {.channels = 2, .bias = false})(x);
  };
  auto grouped = [](const ParamScope& scope, Tensor x) {
    Conv2d depth(scope / "depth",
                 {.channels = 2, .bias = false, .groups = 2, .inputs = 2});
    return Conv2d(scope, {.channels = 2, .kernel = 1, .bias = false})(depth(x));
  };
  BlockInputs inputs = {
      .x = Range(24), .given = {{"depth_w", Range(18)}, {"w", {1, -1, 2, 3}}}};
  EXPECT_EQ(ValuesOf({1}, {4, 3, 2}, inputs, separable),
            ValuesOf({1}, {4, 3, 2}, inputs, grouped));
}

// The first weights of a convolution are scaled by the whole window.
TEST(Conv2dTest, FanInCountsTheWindow) {
  const Conv2dOptions options{.channels = 200, .kernel = 5};
  std::vector<double> x(25);
  x[12] = 1;
  float greatest = 0;
  for (float w : ValuesOf({1}, {5, 5, 1}, {.x = x}, Conv(options))) {
    greatest = std::max(greatest, std::abs(w));
  }
  EXPECT_NEAR(greatest, std::sqrt(6 / 25.), 0.001);
}

TEST(SeparableTest, ShapesGradientBits) {
  const Conv2dOptions options{.channels = 4, .stride = 2};
  EXPECT_EQ(ShapesOf({2}, {4, 6, 3}, Separable(options)),
            "depth_w:3,3->3 w:1,1,3->4 b:4 => 2|2,3,4");
  ExpectGradient({1}, {4, 6, 3}, Separable(options));
  ExpectSameBits({2}, {4, 6, 5}, Separable(options));
}

TEST(PoolTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2}, {6, 8, 3}, MaxPool(kHalve)), "=> 2|3,4,3");
  const WindowOptions same{.kernel = 3, .stride = 2, .padding = Padding::kSame};
  for (const WindowOptions& windows : {kHalve, same}) {
    ExpectGradient({2}, {4, 6, 2}, MaxPool(windows));
    ExpectGradient({2}, {4, 6, 2}, AvgPool(windows));
    ExpectSameBits({2}, {4, 6, 5}, MaxPool(windows));
    ExpectSameBits({2}, {4, 6, 5}, AvgPool(windows));
  }
  // Windows that overlap.
  ExpectGradient({2}, {5, 7, 2}, MaxPool(kThrees));
}

// Of the cells of a window that are greatest, the first gets the gradient.
TEST(PoolTest, GradientOfTies) {
  for (const WindowOptions& windows :
       {kHalve, WindowOptions{.kernel = 3},
        WindowOptions{.kernel = 3, .stride = 2, .padding = Padding::kSame}}) {
    auto twice = [=](const ParamScope&, Tensor x) {
      return MaxPool2d(Interleave("...|h, ...", x, x), windows);
    };
    ExpectGradient({2}, {3, 8, 2}, twice);
    ExpectSameBits({2}, {3, 8, 2}, twice);
  }
}

TEST(PoolTest, Values) {
  EXPECT_THAT(ValuesOf({}, {4, 4, 1}, {.x = Range(16)}, MaxPool(kHalve)),
              ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(ValuesOf({}, {7, 7, 2}, {.x = Range(98)}, MaxPool(kThrees)),
              ElementsAre(32, 33, 36, 37, 40, 41, 60, 61, 64, 65, 68, 69, 88,
                          89, 92, 93, 96, 97));
  EXPECT_THAT(ValuesOf({}, {3, 3, 1}, {.x = Range(9)}, MaxPool(kThrees)),
              ElementsAre(8));
  EXPECT_THAT(ValuesOf({}, {4, 4, 1}, {.x = Range(16)}, AvgPool(kHalve)),
              ElementsAre(2.5, 4.5, 10.5, 12.5));
  // Outside there is nothing to choose.
  const WindowOptions same{.kernel = 3, .padding = Padding::kSame};
  EXPECT_THAT(ValuesOf({}, {2, 2, 1}, {.x = {-4, -3, -2, -1}}, MaxPool(same)),
              Each(-1));
  EXPECT_THAT(ValuesOf({}, {2, 2, 1}, {.x = {9, 9, 9, 9}}, AvgPool(same)),
              Each(4));
}

// A mean, not a sum.
TEST(PoolTest, Global) {
  auto pool = [](const ParamScope&, Tensor x) {
    return train::GlobalAvgPool2d(x);
  };
  EXPECT_EQ(ShapesOf({2}, {5, 6, 3}, pool), "=> 2|3");
  EXPECT_THAT(ValuesOf({1}, {2, 2, 2}, {.x = Range(8)}, pool),
              ElementsAre(3, 4));
  ExpectGradient({2}, {2, 3, 2}, pool);
  ExpectSameBits({2}, {5, 6, 3}, pool);
}

TEST(LeNetTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2}, {28, 28, 1},
                     [](const ParamScope& scope, Tensor x) {
                       return train::LeNet(scope)(x);
                     }),
            "conv1_w:5,5,1->6 conv1_b:6 conv2_w:5,5,6->16 conv2_b:16 "
            "layer1_w:5,5,16->120 layer1_b:120 layer2_w:120->84 layer2_b:84 "
            "layer3_w:84->10 layer3_b:10 => 2|10");
  ExpectGradient({1}, {12, 12, 1}, ApplyLeNet);
  ExpectSameBits({2}, {12, 12, 1}, ApplyLeNet);
}

TEST(ResNetBlockTest, ShapesGradientBits) {
  using Options = train::ResNetBlockOptions;
  const ApplyBlock plain = Trained<train::ResNetBlock>(Options{.channels = 2});
  const ApplyBlock halving =
      Trained<train::ResNetBlock>(Options{.channels = 3, .stride = 2});
  EXPECT_EQ(ShapesOf({2}, {4, 6, 2}, plain),
            "first_conv_w:3,3,2->2 first_norm_scale:2 first_norm_shift:2 "
            "second_conv_w:3,3,2->2 second_norm_scale:2 second_norm_shift:2 "
            "=> 2|4,6,2");
  EXPECT_EQ(ShapesOf({2}, {4, 6, 2}, halving),
            "first_conv_w:3,3,2->3 first_norm_scale:3 first_norm_shift:3 "
            "second_conv_w:3,3,3->3 second_norm_scale:3 second_norm_shift:3 "
            "project_conv_w:1,1,2->3 project_norm_scale:3 "
            "project_norm_shift:3 => 2|2,3,3");
  ExpectGradient({2}, {2, 4, 2}, plain);
  ExpectGradient({2}, {2, 4, 2}, halving);
  ExpectSameBits({2}, {4, 6, 2}, halving);
}

train::MobileCnnOptions SmallMobile(double width) {
  return {.stem = 2,
          .layers = {{.channels = 4}, {.channels = 6, .stride = 2}},
          .width = width,
          .classes = 3};
}

// Running variances are 1 at first, so that each norm halves its cells.
TEST(ResNetBlockTest, EpsilonOfAllNorms) {
  auto apply = [](const ParamScope& scope, Tensor x) {
    return train::ResNetBlock(
        scope, {.channels = 1, .project = true, .norm = {.epsilon = 3}})(
        x, train::kInference);
  };
  std::map<std::string, std::vector<double>> given = {
      {"project_conv_w", {1}},
      {"first_conv_w", {0, 0, 0, 0, 1, 0, 0, 0, 0}},
      {"second_conv_w", {0, 0, 0, 0, 1, 0, 0, 0, 0}}};
  EXPECT_THAT(ValuesOf({1}, {1, 1, 1}, {.x = {8}, .given = given}, apply),
              ElementsAre(testing::FloatNear(4 + 2, 1e-5)));
}

TEST(MobileCnnTest, ShapesGradientBits) {
  const ApplyBlock narrow = Trained<train::MobileCnn>(SmallMobile(1));
  EXPECT_EQ(ShapesOf({2}, {8, 8, 3}, narrow),
            "logits_w:6->3 logits_b:3 stem_conv_w:3,3,3->2 stem_norm_scale:2 "
            "stem_norm_shift:2 layer1_depth_conv_w:3,3,1->2,1 "
            "layer1_depth_norm_scale:2 layer1_depth_norm_shift:2 "
            "layer1_mix_conv_w:1,1,2->4 layer1_mix_norm_scale:4 "
            "layer1_mix_norm_shift:4 layer2_depth_conv_w:3,3,1->4,1 "
            "layer2_depth_norm_scale:4 layer2_depth_norm_shift:4 "
            "layer2_mix_conv_w:1,1,4->6 layer2_mix_norm_scale:6 "
            "layer2_mix_norm_shift:6 => 2|3");
  ExpectGradient({2}, {8, 4, 2}, narrow);
  ExpectSameBits({2}, {8, 8, 3}, narrow);
}

// Of all layers; rounded, and never without channels.
TEST(MobileCnnTest, WidthCounts) {
  const std::string wide =
      ShapesOf({2}, {8, 8, 3}, Trained<train::MobileCnn>(SmallMobile(1.75)));
  for (const char* part :
       {"stem_conv_w:3,3,3->4 ", "layer1_mix_conv_w:1,1,4->7 ",
        "layer2_mix_conv_w:1,1,7->11 ", "logits_w:11->3 "}) {
    EXPECT_THAT(wide, HasSubstr(part));
  }
  EXPECT_THAT(
      ShapesOf({2}, {8, 8, 3}, Trained<train::MobileCnn>(SmallMobile(0.01))),
      HasSubstr("stem_conv_w:3,3,3->1 "));
  EXPECT_THAT(
      ShapesOf({2}, {8, 8, 3}, Trained<train::MobileCnn>(SmallMobile(0))),
      HasSubstr("the width is 0; it must be above 0"));
}

TEST(SokobanCnnTest, ShapesGradientBits) {
  auto both = [](const ParamScope& scope, Tensor x) {
    train::Training training{.step = scope.graph->AddStatic("step", 10)};
    const auto [actions, value] = train::SokobanCnn(
        scope, {.channels = {2, 3}, .hidden = 5, .actions = 4})(x, &training);
    return Concat("...|a; ...|v => ...|a^v", {actions, value});
  };
  EXPECT_EQ(ShapesOf({2}, {3, 4, 2}, both),
            "hidden_w:3,4,3->5 hidden_b:5 actions_w:5->4 actions_b:4 "
            "value_w:5->1 value_b:1 conv1_conv_w:3,3,2->2 conv1_norm_scale:2 "
            "conv1_norm_shift:2 conv2_conv_w:3,3,2->3 conv2_norm_scale:3 "
            "conv2_norm_shift:3 => 2|5");
  ExpectGradient({2}, {3, 4, 2}, both);
  ExpectSameBits({2}, {3, 4, 2}, both);
}

TEST(VggBlockTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2}, {4, 6, 2}, ApplyVgg),
            "conv1_w:3,3,2->3 conv1_b:3 conv2_w:3,3,3->3 conv2_b:3 => "
            "2|2,3,3");
  ExpectGradient({1}, {4, 4, 2}, ApplyVgg);
  ExpectSameBits({2}, {4, 6, 2}, ApplyVgg);
}

}  // namespace
}  // namespace ocannl
