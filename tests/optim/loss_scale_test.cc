// SPDX-License-Identifier: Apache-2.0
//
// Dynamic loss scaling, on gradients that overflow where one can see it.
#include "ocannl/train/optim/loss_scale.h"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/optim/transforms.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::LossScaleOptions;

double Power(int exponent) { return std::ldexp(1, exponent); }

// Trains a, 1 cell, and b, 2 cells, both 1 at first, whose gradients are 3 and
// (0, 4) times the static index `part`, at the rate 1.
class Training {
 public:
  Training(const LossScaleOptions& options,
           const absl::StatusOr<train::UpdateRule>& rule,
           const Backend* backend = TestDevice::Interpreter())
      : host_(backend) {
    const int32_t part = model_.graph.AddStatic("part", 100);
    Names names{.statics = {{"part", part}}};
    Tensor loss =
        Named(MustParseTensor(
                  model_.graph,
                  "({a = 1; o=[1]} *. 3 *. !@part) + "
                  "(({b = 1; o=[2]} *. [0; 4] ++ \"...|... => 0\") *. !@part)",
                  names),
              "loss");
    auto scale = train::MakeLossScale(model_, options);
    CHECK_OK(scale);
    auto gradient =
        train::GradUpdate(model_, loss, {.scaled_by = scale->tensor});
    CHECK_OK(gradient);
    auto update =
        train::ScaledRuleUpdate(model_, train::Parameters(model_, loss),
                                Number(model_.graph, 1), rule, *scale);
    CHECK_OK(update);
    cd_ = PrintCd(update->update);
    auto params = train::InitParams(model_, loss);
    CHECK_OK(params);
    auto init = ToRoutine(host_.context,
                          train::Sequence("init", {*params, update->init}), {});
    CHECK_OK(init);
    CHECK_OK(init->Run());
    auto step =
        ToRoutine(init->context(),
                  train::Sequence("step", {*gradient, update->update}), {});
    CHECK_OK(step);
    step_ = std::make_unique<Routine>(*std::move(step));
  }

  void Step(int64_t part) {
    CHECK_OK(step_->Set("part", part));
    CHECK_OK(step_->Run());
  }

  std::vector<double> Values(const std::string& name) {
    return CellsOf(host_.context, name);
  }
  double Scale() { return Values("loss_scale")[0]; }

  // All that a step leaves for the next, by name.
  std::vector<Array> State() { return train::StateArrays({&step_->program()}); }
  std::vector<std::vector<double>> StateValues() {
    std::vector<std::vector<double>> values;
    for (const Array& array : State()) values.push_back(Values(array.name));
    return values;
  }

  const std::string& cd() const { return cd_; }
  const Context& context() const { return host_.context; }

 private:
  train::Model model_;
  TestDevice host_;
  std::unique_ptr<Routine> step_;
  std::string cd_;
};

TEST(LossScaleTest, HalvesAndSkipsThenDoubles) {
  // 4 * 2^127 and 4 * 2^126 are infinite in f32.
  Training training({.first = Power(127), .growth_interval = 3}, train::Sgd());
  for (const int exponent : {126, 125}) {
    training.Step(1);
    EXPECT_EQ(training.Scale(), Power(exponent));
    EXPECT_THAT(training.Values("a"), ElementsAre(1));
    EXPECT_THAT(training.Values("b"), ElementsAre(1, 1));
  }
  for (int good = 1; good <= 3; ++good) {
    training.Step(1);
    EXPECT_THAT(training.Values("a"), ElementsAre(1 - 3 * good));
    EXPECT_THAT(training.Values("b"), ElementsAre(1, 1 - 4 * good));
    EXPECT_EQ(training.Scale(), Power(good < 3 ? 125 : 126));
  }
  EXPECT_EQ(training.Values("loss")[0], 3 * -5 + 4 * -7);  // not scaled
  // The good ones are counted anew after each that is not.
  training.Step(1);
  EXPECT_EQ(training.Scale(), Power(125));
  training.Step(1);
  training.Step(1);
  training.Step(90);
  EXPECT_EQ(training.Scale(), Power(124));
  training.Step(1);
  training.Step(1);
  EXPECT_EQ(training.Scale(), Power(124));
  training.Step(1);
  EXPECT_EQ(training.Scale(), Power(125));
}

TEST(LossScaleTest, StaysFromOneToTheGreatest) {
  Training small({.first = 1, .growth_interval = 1}, train::Sgd());
  small.Step(0);
  EXPECT_EQ(small.Scale(), 2);
  Training great({.first = Power(127), .growth_interval = 1}, train::Sgd());
  great.Step(0);  // gradients of 0
  EXPECT_EQ(great.Scale(), Power(127));
  Training least({.first = 1, .growth_interval = 9}, train::Sgd());
  CHECK_OK(least.context().Write(
      "a", NdArray::Of<float>({1}, {std::numeric_limits<float>::quiet_NaN()})));
  least.Step(1);  // the loss is NaN, its gradient is not
  EXPECT_EQ(least.Scale(), 1);
}

// A training without scales ends with the same bits, but for the skipped steps.
TEST(LossScaleTest, StatesOfAnyRuleStay) {
  const auto rule = train::Chain(
      {*train::ClipByGlobalNorm(2), *train::AdamW(), *train::Ema(0.9)});
  Training scaled({.first = Power(126), .growth_interval = 100}, rule);
  Training plain({.first = 1, .growth_interval = 100}, rule);
  for (const int64_t part : {1, 2, 80, 1, 3}) {
    const double before = scaled.Scale();
    scaled.Step(part);
    if (scaled.Scale() == before) plain.Step(part);
  }
  EXPECT_EQ(scaled.Scale(), Power(123));
  int compared = 0;
  for (const Array& array : scaled.State()) {
    if (array.name.ends_with("loss_scale")) continue;
    EXPECT_EQ(scaled.Values(array.name), plain.Values(array.name))
        << array.name;
    ++compared;
  }
  EXPECT_GT(compared, 8);
}

TEST(LossScaleTest, GoesOnFromACheckpoint) {
  const LossScaleOptions options{.first = Power(126), .growth_interval = 2};
  const std::vector<int64_t> parts = {1, 3, 1, 1, 50, 2, 1, 1, 1, 1};
  Training whole(options, train::Adam()), half(options, train::Adam()),
      rest(options, train::Adam());
  for (int64_t part : parts) whole.Step(part);
  for (size_t k = 0; k < 4; ++k) half.Step(parts[k]);
  const std::string path = absl::StrCat(testing::TempDir(), "/scaled.npz");
  CHECK_OK(train::SaveParams(path, half.State(), half.context()));
  CHECK_OK(train::RestoreParams(path, rest.State(), rest.context()));
  for (size_t k = 4; k < parts.size(); ++k) rest.Step(parts[k]);
  EXPECT_EQ(rest.StateValues(), whole.StateValues());
}

TEST(LossScaleTest, TheSameBitsOnEveryTier) {
  const LossScaleOptions options{.first = Power(127), .growth_interval = 2};
  std::vector<std::string> tiers = AvailableTiers();
  tiers.push_back("auto");
  std::vector<std::vector<double>> expected;
  for (const std::string& tier : tiers) {
    auto backend = FindTier(tier);
    CHECK_OK(backend);
    Training training(options, train::Adam(), *backend);
    for (int64_t part = 0; part < 100; ++part) training.Step(part);
    if (expected.empty()) expected = training.StateValues();
    EXPECT_EQ(training.StateValues(), expected) << tier;
  }
}

TEST(LossScaleTest, ItsCodeIsText) {
  Training training({}, train::Adam());
  EXPECT_THAT(training.cd(),
              HasSubstr("/* loss_scale gradients that are not finite */"));
  EXPECT_THAT(training.cd(), HasSubstr("adam_m_a.before =: adam_m_a;"));
  EXPECT_THAT(training.cd(), HasSubstr("/* loss_scale halves or doubles */"));
}

TEST(LossScaleTest, ThatOfTheModelIsFound) {
  train::Model model;
  EXPECT_EQ(train::LossScaleFor(DType::kBF16, model)->has_value(), false);
  const auto made = train::MakeLossScale(model, {.growth_interval = 3});
  CHECK_OK(made);
  train::Model copy = model;
  const auto found = train::LossScaleFor(DType::kF16, copy);
  CHECK_OK(found);
  EXPECT_EQ((*found)->tensor.id, made->tensor.id);
  EXPECT_EQ((*found)->tensor.graph, &copy.graph);
  EXPECT_EQ((*found)->growth_interval, 3);
}

TEST(LossScaleTest, Errors) {
  train::Model model;
  for (const double first : {0., 0.5, 3., Power(128), std::nan("")}) {
    EXPECT_THAT(
        std::string(
            train::MakeLossScale(model, {.first = first}).status().message()),
        HasSubstr("must be a power of two from 1 to 2^127"))
        << first;
  }
  EXPECT_THAT(std::string(train::MakeLossScale(model, {.growth_interval = 0})
                              .status()
                              .message()),
              HasSubstr("is 0; it must be from 1 to 16777216"));
  CHECK_OK(train::MakeLossScale(model));
  EXPECT_THAT(std::string(train::MakeLossScale(model).status().message()),
              HasSubstr("has a tensor `loss_scale` already"));
}

}  // namespace
}  // namespace ocannl
