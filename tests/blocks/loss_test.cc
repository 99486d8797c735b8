// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/blocks/loss.h"

#include <cmath>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/tensor/indexing.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/softmax.h"
#include "tests/blocks/block_check.h"
#include "tests/support/every_code_is_text.h"

namespace ocannl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using train::CrossEntropy;
using train::CrossEntropyOptions;
using train::ParamScope;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr const char* kRows = "...|v => ...|0";

Tensor ApplySoftmax(const ParamScope&, Tensor x) {
  return train::Softmax(kRows, x);
}

Tensor ApplyLogSoftmax(const ParamScope&, Tensor x) {
  return train::LogSoftmax(kRows, x);
}

// The first cell of each row and what is above the row's second cell count.
Tensor ApplyMaskedSoftmax(const ParamScope& scope, Tensor x) {
  Tensor first = Equal(Range(*scope.graph, 4, *scope.dtype), 0);
  Tensor above = Less(Einsum1("...|1... => ...|0", x), x);
  return train::MaskedSoftmax(kRows, x, Or(first, above));
}

// Targets of 5 rows of 4 classes.
Tensor Classes(const ParamScope& scope) {
  Tensor ids =
      Literal(*scope.graph, Shape{{Dims{5}, Dims{}, Dims{}}}, {3, 0, 9, 1, 1});
  return Convert(ids, DType::kI32);
}

ApplyBlock Entropy(double smoothing, bool ignore) {
  return [=](const ParamScope& scope, Tensor x) {
    Tensor ids = Classes(scope);
    CrossEntropyOptions options{.label_smoothing = smoothing};
    if (ignore) options.weights = NotEqual(ids, 9);
    return CrossEntropy(x, OneHot(ids, 4, *scope.dtype), options);
  };
}

TEST(SoftmaxTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({2, 3}, {4}, ApplySoftmax), "=> 2,3|4");
  ExpectGradient({2, 3}, {4}, ApplySoftmax);
  ExpectGradient({3}, {4}, ApplyLogSoftmax);
  ExpectGradient({3}, {4}, ApplyMaskedSoftmax);
  ExpectSameBits({3}, {37}, ApplySoftmax);
  ExpectSameBits({3}, {37}, ApplyLogSoftmax);
  ExpectSameBits({3}, {4}, ApplyMaskedSoftmax);
}

TEST(SoftmaxTest, Values) {
  const double e = std::exp(1);
  EXPECT_THAT(
      ValuesOf({2}, {2}, {.x = {0, 1, 7, 7}}, ApplySoftmax),
      ElementsAre(FloatEq(1 / (1 + e)), FloatEq(e / (1 + e)), 0.5, 0.5));
  // Nothing overflows.
  EXPECT_THAT(ValuesOf({1}, {3}, {.x = {3e38, -3e38, 3e38}}, ApplySoftmax),
              ElementsAre(0.5, 0, 0.5));
  EXPECT_THAT(ValuesOf({1}, {2}, {.x = {1000, 0}}, ApplyLogSoftmax),
              ElementsAre(0, -1000));
}

TEST(SoftmaxTest, WhatIsMaskedWeighsNothing) {
  EXPECT_THAT(
      ValuesOf({2}, {4}, {.x = {5, 7, 5, 1, 5, 0, 5, 5}}, ApplyMaskedSoftmax),
      ElementsAre(1, 0, 0, 0, FloatEq(1 / 3.), 0, FloatEq(1 / 3.),
                  FloatEq(1 / 3.)));
  auto none = [](const ParamScope&, Tensor x) {
    return train::MaskedSoftmax(kRows, x, NotEqual(x, x));
  };
  EXPECT_THAT(ValuesOf({1}, {3}, {.x = {1, kInfinity, -kInfinity}}, none),
              Each(0));
  ExpectGradient({2}, {3}, none);
}

TEST(SoftmaxTest, MasksNarrowFloats) {
  for (DType dtype : kDTypes) {
    if (!IsNarrow(dtype)) continue;
    auto apply = [&](const ParamScope& scope, Tensor x) {
      Tensor first = Equal(Range(*scope.graph, 3, *scope.dtype), 0);
      return Convert(train::MaskedSoftmax(kRows, Convert(x, dtype), first),
                     *scope.dtype);
    };
    EXPECT_THAT(ValuesOf({1}, {3}, {.x = {-5, 7, 0}}, apply),
                ElementsAre(1, 0, 0))
        << Name(dtype);
  }
}

TEST(CrossEntropyTest, SwappedOperandsAreAnError) {
  Graph graph;
  const Tensor logits = Param(graph, "w", {}, DType::kF32, nullptr);
  const Tensor targets = OneHot(Range(graph, 1, DType::kI32), 3, DType::kF32);
  const Tensor loss = CrossEntropy(targets, logits);
  const auto* error = std::get_if<ErrorSource>(&loss.node().source);
  ASSERT_NE(error, nullptr);
  EXPECT_THAT(std::string(error->status.message()),
              HasSubstr("the logits come first"));
}

TEST(CrossEntropyTest, ShapesGradientBits) {
  EXPECT_EQ(ShapesOf({5}, {4}, Entropy(0, false)), "=> 1");
  for (bool ignore : {false, true}) {
    ExpectGradient({5}, {4}, Entropy(0, ignore));
    ExpectGradient({5}, {4}, Entropy(0.1, ignore));
  }
  ExpectSameBits({5}, {4}, Entropy(0, false));
  ExpectSameBits({5}, {4}, Entropy(0.1, true));
}

TEST(CrossEntropyTest, Values) {
  const std::vector<double> zeros(20);
  // One of the five rows has no class, and does not count.
  EXPECT_THAT(ValuesOf({5}, {4}, {.x = zeros}, Entropy(0, false)),
              ElementsAre(FloatEq(std::log(4))));
  EXPECT_THAT(ValuesOf({5}, {4}, {.x = zeros}, Entropy(0, true)),
              ElementsAre(FloatEq(std::log(4))));
  EXPECT_THAT(ValuesOf({5}, {4}, {.x = zeros}, Entropy(0.3, true)),
              ElementsAre(FloatEq(std::log(4))));
  // Row 0 alone is uncertain; the logarithms of its sum:
  std::vector<double> x(20);
  for (int cell : {4, 8, 13, 17}) x[cell] = 100;
  x[3] = 1;
  const double sum = std::log(3 + std::exp(1));
  EXPECT_THAT(ValuesOf({5}, {4}, {.x = x}, Entropy(0, true)),
              ElementsAre(FloatEq((sum - 1) / 4)));
  const double smooth =
      0.9 * (sum - 1) + 0.1 * (4 * sum - 1) / 4 + 3 * 0.1 * 300 / 4;
  EXPECT_THAT(ValuesOf({5}, {4}, {.x = x}, Entropy(0.1, true)),
              ElementsAre(FloatEq(smooth / 4)));
}

TEST(CrossEntropyTest, NothingCounts) {
  auto none = [](const ParamScope& scope, Tensor x) {
    Tensor ids = Classes(scope);
    return CrossEntropy(x, OneHot(ids, 4, *scope.dtype),
                        {.weights = NotEqual(ids, ids)});
  };
  EXPECT_THAT(ValuesOf({5}, {4}, {.x = std::vector<double>(20)}, none),
              ElementsAre(0));
}

// Of rows of two logits, with a class for each row.
ApplyBlock EntropyOf(const std::vector<float>& classes, double smoothing = 0) {
  return [=](const ParamScope& scope, Tensor x) {
    const auto rows = static_cast<int64_t>(classes.size());
    const Tensor ids = Convert(
        Literal(*scope.graph, Shape{{Dims{rows}, Dims{}, Dims{}}}, classes),
        DType::kI64);
    return CrossEntropy(x, OneHot(ids, 2, *scope.dtype),
                        {.label_smoothing = smoothing});
  };
}

// PyTorch's F.cross_entropy gives these numbers.
TEST(CrossEntropyTest, LabelsOutsideAreIgnored) {
  const std::vector<double> x = {0, 0, 5, 1, 2, 2, 7, 7};
  for (double smoothing : {0., 0.2}) {
    EXPECT_THAT(
        ValuesOf({4}, {2}, {.x = x}, EntropyOf({1, -100, 0, 2}, smoothing)),
        ElementsAre(FloatEq(std::log(2))));
    EXPECT_THAT(
        GradientOf({4}, {2}, {.x = x}, EntropyOf({1, -100, 0, 2}, smoothing)),
        ElementsAre(FloatEq((1 - smoothing) / 4), FloatEq(-(1 - smoothing) / 4),
                    0, 0, FloatEq(-(1 - smoothing) / 4),
                    FloatEq((1 - smoothing) / 4), 0, 0));
  }
  // Whatever their logits are.
  const double nan = std::nan("");
  EXPECT_THAT(ValuesOf({3}, {2}, {.x = {0, 0, nan, kInfinity, 1, -kInfinity}},
                       EntropyOf({0, -100, 7})),
              ElementsAre(FloatEq(std::log(2))));
  EXPECT_THAT(GradientOf({3}, {2}, {.x = {0, 0, nan, kInfinity, 1, -kInfinity}},
                         EntropyOf({0, -100, 7})),
              ElementsAre(-0.5, 0.5, 0, 0, 0, 0));
  EXPECT_THAT(ValuesOf({2}, {2}, {.x = {1, 2, nan, 4}}, EntropyOf({-100, 2})),
              ElementsAre(0));
  EXPECT_THAT(GradientOf({2}, {2}, {.x = {1, 2, nan, 4}}, EntropyOf({-100, 2})),
              Each(0));
}

TEST(CrossEntropyTest, LogitsOfMinusInfinity) {
  const std::vector<double> x = {-kInfinity, 3, 2, 2};
  EXPECT_THAT(ValuesOf({2}, {2}, {.x = x}, EntropyOf({1, 0})),
              ElementsAre(FloatEq(std::log(2) / 2)));
  EXPECT_THAT(GradientOf({2}, {2}, {.x = x}, EntropyOf({1, 0})),
              ElementsAre(0, 0, -0.25, 0.25));
  EXPECT_THAT(ValuesOf({2}, {2}, {.x = x}, EntropyOf({0, 0})),
              ElementsAre(kInfinity));
  EXPECT_THAT(ValuesOf({2}, {2}, {.x = x}, EntropyOf({1, 0}, 0.1)),
              ElementsAre(kInfinity));
  // The label is ignored, and so is the logit.
  EXPECT_THAT(ValuesOf({2}, {2}, {.x = x}, EntropyOf({-1, 0}, 0.1)),
              ElementsAre(FloatEq(std::log(2))));
}

// The number of rows is not rounded to the dtype of the logits.
TEST(CrossEntropyTest, ManyRowsOfNarrowLogits) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF8E4M3}) {
    auto apply = [&](const ParamScope& scope, Tensor x) {
      const Tensor zeros = Convert(Mul(0, x), dtype);
      const Tensor loss = CrossEntropy(
          zeros,
          OneHot(Einsum1("...|v => ...|", Convert(Mul(0, x), DType::kI32)), 2,
                 dtype),
          {});
      return Convert(loss, *scope.dtype);
    };
    EXPECT_THAT(ValuesOf({3000}, {2}, {.x = std::vector<double>(6000)}, apply),
                ElementsAre(testing::FloatNear(std::log(2), 0.03)))
        << Name(dtype);
  }
}

TEST(CrossEntropyTest, SmoothingOutOfRange) {
  EXPECT_THAT(ShapesOf({5}, {4}, Entropy(1.5, false)),
              HasSubstr("is 1.5; it must be in [0, 1]"));
}

TEST(MeanSquaredErrorTest, GradientAndValue) {
  auto error = [](const ParamScope& scope, Tensor x) {
    return train::MeanSquaredError(x, Range(*scope.graph, 3, *scope.dtype));
  };
  ExpectGradient({2}, {3}, error);
  EXPECT_THAT(ValuesOf({2}, {3}, {.x = {0, 1, 2, 0, 1, 8}}, error),
              ElementsAre(6));
}

}  // namespace
}  // namespace ocannl
