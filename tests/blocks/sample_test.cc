// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/decode/sample.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/model.h"
#include "tests/agree/all_tiers.h"
#include "tests/blocks/block_check.h"

namespace ocannl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using train::ParamScope;
using train::Sample;
using train::SampleOptions;

ApplyBlock Drawn(const SampleOptions& options) {
  return [=](const ParamScope& scope, Tensor x) {
    const int32_t draw = scope.graph->AddStatic("draw", 10);
    return Convert(Sample(x, options, EmbedSymbol(*scope.graph, draw)),
                   DType::kF32);
  };
}

// How often each number is drawn from `logits`, of 10,000 times.
std::vector<int> Counts(const std::vector<double>& logits,
                        const SampleOptions& options, int64_t draw = 0) {
  constexpr int64_t kTimes = 10'000;
  const auto size = static_cast<int64_t>(logits.size());
  std::vector<double> x;
  for (int64_t k = 0; k < kTimes * size; ++k) x.push_back(logits[k % size]);
  std::vector<int> counts(logits.size());
  for (float number : ValuesOf({kTimes}, {size}, {.x = x, .statics = {draw}},
                               Drawn(options))) {
    ++counts[static_cast<size_t>(number)];
  }
  return counts;
}

// Within four standard deviations.
void ExpectShares(const std::vector<int>& counts,
                  const std::vector<double>& weights) {
  double sum = 0;
  for (double weight : weights) sum += weight;
  for (size_t k = 0; k < weights.size(); ++k) {
    const double p = weights[k] / sum;
    EXPECT_NEAR(counts[k], 1e4 * p, 4 * std::sqrt(1e4 * p * (1 - p))) << k;
  }
}

TEST(SampleTest, Shapes) {
  EXPECT_EQ(ShapesOf({2, 3}, {5}, Drawn({})), "=> 2,3|");
  EXPECT_THAT(ShapesOf({2}, {5}, Drawn({.temperature = -1})),
              HasSubstr("sampling with temperature -1 and the greatest 0; "
                        "neither may be below 0"));
  EXPECT_THAT(ShapesOf({2}, {5}, Drawn({.top_k = -1})), HasSubstr("neither"));
}

TEST(SampleTest, TemperatureZeroIsGreedy) {
  EXPECT_THAT(ValuesOf({3}, {3}, {.x = {1, 3, 2, 5, 4, 5, -1, -2, -1}},
                       Drawn({.temperature = 0})),
              ElementsAre(1, 0, 0));
}

TEST(SampleTest, SoftmaxOfTheLogits) {
  const std::vector<double> logits = {0, 1, -1, 2};
  for (double temperature : {1., 0.5, 3.}) {
    std::vector<double> weights;
    for (double logit : logits)
      weights.push_back(std::exp(logit / temperature));
    ExpectShares(Counts(logits, {.temperature = temperature}), weights);
  }
  // Another draw, other numbers.
  EXPECT_NE(Counts(logits, {}, 1), Counts(logits, {}, 2));
  EXPECT_EQ(Counts(logits, {}, 1), Counts(logits, {}, 1));
}

// A counter may be an array, too.
TEST(SampleTest, CountersAreNumbers) {
  auto drawn = [](const ParamScope& scope, Tensor x) {
    const Tensor three =
        Data(*scope.graph, "counter", NdArray::Of<uint32_t>({}, {3}),
             {.rows = {Dims{}, Dims{}, Dims{}}});
    return Convert(Sample(x, {}, three), DType::kF32);
  };
  const std::vector<double> x(300);
  EXPECT_EQ(ValuesOf({100}, {3}, {.x = x}, drawn),
            ValuesOf({100}, {3}, {.x = x, .statics = {3}}, Drawn({})));
}

TEST(SampleTest, TheGreatestOnly) {
  const double e = std::exp(1);
  ExpectShares(Counts({0, 1, -1, 2}, {.top_k = 2}), {0, e, 0, e * e});
  ExpectShares(Counts({-3, -1, -2}, {.top_k = 2}), {0, e, 1});
  ExpectShares(Counts({-1, 0, 1}, {.top_k = 3}), {1, e, e * e});
  ExpectShares(Counts({-1, 0, 1}, {.top_k = 9}), {1, e, e * e});
  EXPECT_THAT(Counts({1, 3, 2}, {.top_k = 1}), ElementsAre(0, 10'000, 0));
  // Those that equal the last one are as good.
  ExpectShares(Counts({2, 1, 2, 1}, {.top_k = 1}), {1, 0, 1, 0});
  ExpectShares(Counts({-0., 0, -1}, {.top_k = 1}), {1, 1, 0});
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  ExpectShares(Counts({kNever, 1, kNever, 1}, {.top_k = 3}), {0, 1, 0, 1});
}

TEST(SampleTest, SameBitsOnAllTiers) {
  for (const SampleOptions& options :
       {SampleOptions{.temperature = 0}, SampleOptions{.temperature = 0.7},
        SampleOptions{.temperature = 2, .top_k = 3}}) {
    train::Model model;
    const ParamScope scope{.graph = &model.graph, .name = "x"};
    const Tensor logits =
        Data(model.graph, "logits", NdArray(DType::kF32, {4, 11}),
             {.rows = {Dims{4}, Dims{11}, Dims{}}});
    absl::StatusOr<Assignments> code =
        train::Forward(model, Drawn(options)(scope, logits));
    CHECK_OK(code);
    absl::StatusOr<LoopProgram> program = CompileProgram(*code, {});
    CHECK_OK(program);
    EXPECT_TRUE(fuzz::TiersAgree(*program));
  }
}

}  // namespace
}  // namespace ocannl
