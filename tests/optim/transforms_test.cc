// SPDX-License-Identifier: Apache-2.0
//
// Gradient transformations, and schedules of the rate, on numbers that can be
// worked out by hand.
#include "ocannl/train/optim/transforms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/optim/schedule.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using train::UpdateRule;

// Parameters a, 1 cell, and b, 2 cells, whose gradients are 3 and (0, 4) times
// the value of the static index `part`, with routines of code made for them.
class TransformsTest : public testing::Test {
 protected:
  TransformsTest() {
    const int32_t part = model_.graph.AddStatic("part", 100);
    Names names{.statics = {{"part", part}}};
    loss_ =
        Named(MustParseTensor(
                  model_.graph,
                  "({a = 1; o=[1]} *. 3 *. !@part) + "
                  "(({b = 1; o=[2]} *. [0; 4] ++ \"...|... => 0\") *. !@part)",
                  names),
              "loss");
    params_ = train::Parameters(model_, loss_);
    auto init = train::InitParams(model_, loss_);
    CHECK_OK(init);
    inits_.push_back(*init);
  }

  train::UpdateCode Code(const UpdateRule& rule,
                         std::optional<Tensor> rate = std::nullopt) {
    auto code = train::RuleUpdate(model_, params_, rate, rule);
    CHECK_OK(code);
    inits_.push_back(code->init);
    return *std::move(code);
  }

  // Keeps the gradients of the parameters that the code has.
  Routine Link(const std::string& name, const std::vector<Assignments>& parts) {
    Assignments code = train::Sequence(name, parts);
    for (Tensor p : params_) {
      absl::Status kept = Keep(code, absl::StrCat(p.node().name, ".grad"));
      CHECK(kept.ok() || absl::IsNotFound(kept)) << kept;
    }
    auto routine = ToRoutine(host_.context, code, {});
    CHECK_OK(routine);
    return *std::move(routine);
  }

  void Start() { CHECK_OK(Link("init", inits_).Run()); }

  void Run(Routine& routine, int64_t part = 1) {
    absl::Status set = routine.Set("part", part);
    CHECK(set.ok() || absl::IsNotFound(set)) << set;
    CHECK_OK(routine.Run());
  }

  std::vector<double> Values(const std::string& name) {
    return CellsOf(host_.context, name);
  }

  train::Model model_;
  Tensor loss_{};
  std::vector<Tensor> params_;
  std::vector<Assignments> inits_;
  TestDevice host_;
};

TEST_F(TransformsTest, ClipsByTheNormOfAll) {
  auto gradient = train::GradUpdate(model_, loss_);
  CHECK_OK(gradient);
  Routine step =
      Link("step", {*gradient, Code(*train::ClipByGlobalNorm(2.5)).update});
  Start();
  Run(step);  // the norm is 5
  EXPECT_THAT(Values("a.grad"), ElementsAre(testing::DoubleNear(1.5, 1e-6)));
  EXPECT_THAT(Values("b.grad"), ElementsAre(0, testing::DoubleNear(2, 1e-6)));
  EXPECT_FALSE(train::ClipByGlobalNorm(0).ok());
}

TEST_F(TransformsTest, SmallGradientsStay) {
  auto gradient = train::GradUpdate(model_, loss_);
  CHECK_OK(gradient);
  Routine step =
      Link("step", {*gradient, Code(*train::ClipByGlobalNorm(5.1)).update});
  Start();
  Run(step);
  EXPECT_THAT(Values("a.grad"), ElementsAre(3));
  EXPECT_THAT(Values("b.grad"), ElementsAre(0, 4));
}

TEST_F(TransformsTest, GradientsOfPartsAccumulate) {
  auto gradient = train::GradUpdate(model_, loss_);
  CHECK_OK(gradient);
  Routine part =
      Link("part", {*gradient, Code(train::AccumulateGradients()).update});
  Tensor rate = Number(model_.graph, 0.5);
  Routine update = Link(
      "update",
      {Code(train::Chain({*train::TakeAccumulated(4), *train::Sgd()}), rate)
           .update});
  Start();
  for (const int64_t k : {1, 2, 3, 6}) Run(part, k);
  Run(update);
  // 1 - 0.5 * 3 * (1 + 2 + 3 + 6) / 4
  EXPECT_THAT(Values("a"), ElementsAre(-3.5));
  EXPECT_THAT(Values("b"), ElementsAre(1, -5));
  for (const int64_t k : {1, 1, 1, 1}) Run(part, k);
  Run(update);
  EXPECT_THAT(Values("a"), ElementsAre(-5));
  EXPECT_FALSE(train::TakeAccumulated(0).ok());
}

TEST_F(TransformsTest, AveragesChangePlaces) {
  auto gradient = train::GradUpdate(model_, loss_);
  CHECK_OK(gradient);
  Tensor rate = Number(model_.graph, 1);
  Routine step = Link(
      "step",
      {*gradient,
       Code(train::Chain({*train::Sgd(), *train::Ema(0.5)}), rate).update});
  Routine swap = Link("swap", {Code(train::SwapEma()).update});
  Start();
  for (int k = 0; k < 3; ++k) Run(step);  // -2, -5, -8
  EXPECT_THAT(Values("a"), ElementsAre(-8));
  Run(swap);
  EXPECT_THAT(Values("a"), ElementsAre(-5.75));  // (-3.5 - 8) / 2
  Run(swap);
  EXPECT_THAT(Values("a"), ElementsAre(-8));
  EXPECT_FALSE(train::Ema(1).ok());
}

TEST_F(TransformsTest, ScaledGradientsComeBack) {
  auto gradient = train::GradUpdate(model_, loss_, {.scale = 1024});
  CHECK_OK(gradient);
  Routine scaled = Link("scaled", {*gradient});
  Routine back = Link("back", {Code(*train::UnscaleGradients(1024)).update});
  Start();
  Run(scaled);
  EXPECT_THAT(Values("loss"), ElementsAre(7));
  EXPECT_THAT(Values("b.grad"), ElementsAre(0, 4096));
  Run(back);
  EXPECT_THAT(Values("b.grad"), ElementsAre(0, 4));
}

using MakeRate = std::function<Tensor(Graph& graph, int32_t step)>;

// The schedule at some steps.
std::vector<float> Rates(const MakeRate& make,
                         const std::vector<int64_t>& steps) {
  train::Model model;
  TestDevice host;
  const int32_t step = model.graph.AddStatic("step", std::nullopt);
  Tensor rate = Named(make(model.graph, step), "rate");
  auto code = train::Forward(model, rate);
  CHECK_OK(code);
  Routine routine = *ToRoutine(host.context, *code, {});
  std::vector<float> values;
  for (int64_t k : steps) {
    CHECK_OK(routine.Set("step", k));
    CHECK_OK(routine.Run());
    values.push_back(
        static_cast<float>(host.context.Read("rate")->AsDouble(0)));
  }
  return values;
}

Tensor Linear(Graph& graph, int32_t step) {
  return train::LinearRate(graph, step, 2, 1, 4);
}

TEST(ScheduleTest, RatesByStep) {
  EXPECT_THAT(Rates(Linear, {0, 1, 4, 9}), ElementsAre(2, 1.75f, 1, 1));
  auto cosine = [](Graph& graph, int32_t step) {
    return train::CosineRate(graph, step, 3, 1, 4);
  };
  EXPECT_THAT(
      Rates(cosine, {0, 2, 4, 9}),
      testing::Pointwise(testing::FloatNear(1e-6f), {3.0f, 2.0f, 1.0f, 1.0f}));
  auto falling = [](Graph& graph, int32_t step) {
    return train::StepRate(graph, step, 8, 0.5, 3);
  };
  EXPECT_THAT(Rates(falling, {0, 2, 3, 6}), ElementsAre(8, 8, 4, 2));
  auto halving = [](Graph& graph, int32_t step) {
    return train::ExponentialRate(graph, step, 8, 0.5);
  };
  EXPECT_THAT(Rates(halving, {0, 1, 3}), ElementsAre(8, 4, 1));
  auto warm = [](Graph& graph, int32_t step) {
    return train::Warmup(Linear(graph, step), step, 2);
  };
  EXPECT_THAT(Rates(warm, {0, 1, 2}), ElementsAre(1, 1.75f, 1.5f));
}

struct RateCase {
  std::string name;
  MakeRate make;
  std::function<double(int64_t step)> right;
};

// Schedules of n steps, and what they are in double or long double.
std::vector<RateCase> RatesOf(int64_t n) {
  const auto all = static_cast<long double>(n);
  const double factor = std::pow(0.1, 1.0 / static_cast<double>(n));
  const int64_t tenth = (n + 9) / 10;
  using train::CosineRate, train::LinearRate, train::StepRate;
  return {{"exponential",
           [=](Graph& g, int32_t s) {
             return train::ExponentialRate(g, s, 0.5, factor);
           },
           [=](int64_t s) { return 0.5 * std::pow(factor, double(s)); }},
          {"step",
           [=](Graph& g, int32_t s) { return StepRate(g, s, 3, 0.7, tenth); },
           [=](int64_t s) { return 3 * std::pow(0.7, double(s / tenth)); }},
          {"falling to 0",
           [=](Graph& g, int32_t s) { return LinearRate(g, s, 0.3, 0, n); },
           [=](int64_t s) { return 0.3 * (n - std::min(s, n)) / all; }},
          {"rising from 0",
           [=](Graph& g, int32_t s) { return LinearRate(g, s, 0, 0.3, n); },
           [=](int64_t s) { return 0.3 * std::min(s, n) / all; }},
          {"cosine",
           [=](Graph& g, int32_t s) { return CosineRate(g, s, 0.1, 1e-9, n); },
           [=](int64_t s) {
             const double left = (n - std::min(s, n)) / all;
             const double root = std::sin(std::numbers::pi / 2 * left);
             return 1e-9 + (0.1 - 1e-9) * root * root;
           }},
          {"warm-up",
           [=](Graph& g, int32_t s) {
             return train::Warmup(Number(g, 0.25), s, n);
           },
           [=](int64_t s) { return 0.25 * std::min(s + 1, n) / all; }}};
}

// However many steps there are, and however far apart the ends.
TEST(ScheduleTest, ExactForAnyNumberOfSteps) {
  for (const int64_t n :
       {10L, 1000L, 1'000'000L, 100'000'000L, 10'000'000'000L}) {
    const std::vector<int64_t> steps = {0,     1, n / 3, n / 2, n - 2,
                                        n - 1, n, n + 1, 2 * n, n + n / 7};
    for (const RateCase& c : RatesOf(n)) {
      const std::vector<float> rates = Rates(c.make, steps);
      for (size_t k = 0; k < steps.size(); ++k) {
        const double right = c.right(steps[k]);
        EXPECT_NEAR(rates[k], right, 1e-7 * right)
            << c.name << ", step " << steps[k] << " of " << n;
      }
    }
  }
}

}  // namespace
}  // namespace ocannl
