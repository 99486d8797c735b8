// SPDX-License-Identifier: Apache-2.0
//
// Update rules: what their first steps are by hand, that their states are in
// checkpoints, and what PyTorch's optimisers of the same name do in 100 steps
// (tests/torch_tables).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/assign/print.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers.h"
#include "ocannl/train/model.h"
#include "ocannl/train/optim/around.h"
#include "ocannl/train/optim/rule.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/optim/schedule.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::UpdateRule;

// A parameter of five cells whose gradient is scale *. (w - goal), each
// product and difference rounded once.
struct Descent {
  explicit Descent(const Backend* backend) : host(backend) {}

  std::vector<float> Run(const absl::StatusOr<UpdateRule>& rule, double rate,
                         int steps) {
    Names names;
    Tensor loss = MustParseTensor(
        model.graph,
        "({w = [2.5; -4; 3; 5; -6]; o=[5]} *. stop_gradient("
        "[1; 0.1; 10; 0.01; 3] *. (w - [3; -3.5; 3.5; 4; -5])))"
        " ++ \"...|... => 0\"",
        names);
    auto step = train::StartTraining(model, loss, Number(model.graph, rate),
                                     rule, host.context);
    CHECK_OK(step);
    for (int k = 0; k < steps; ++k) CHECK_OK(step->Run());
    return Values("w");
  }

  std::vector<float> Values(const std::string& name) {
    auto array = host.context.Read(name);
    CHECK_OK(array);
    absl::Span<const float> values = array->values<float>();
    return {values.begin(), values.end()};
  }

  train::Model model;
  TestDevice host;
};

struct Case {
  std::string name;  // of the table's rows
  double rate;
  absl::StatusOr<UpdateRule> rule;
};

std::vector<Case> Cases() {
  using namespace train;  // NOLINT
  return {
      {"sgd", 0.01, Sgd({.momentum = 0.9, .weight_decay = 0.01})},
      {"nesterov", 0.01, Sgd({.momentum = 0.9, .nesterov = true})},
      {"adam", 0.05, Adam()},
      {"adam_decay", 0.05, Adam({.beta1 = 0.8, .weight_decay = 0.1})},
      {"amsgrad", 0.05, Adam({.amsgrad = true})},
      {"adamw", 0.05, AdamW({.beta2 = 0.95, .weight_decay = 0.1})},
      {"rmsprop", 0.01, RmsProp()},
      {"rmsprop_centered", 0.01,
       RmsProp({.alpha = 0.9, .weight_decay = 0.01, .momentum = 0.9,
                .centered = true})},
      {"adagrad", 0.1, Adagrad({.rate_decay = 0.01, .weight_decay = 0.01})},
      {"adadelta", 1, Adadelta({.weight_decay = 0.01})},
      {"lion", 0.01, Lion({.weight_decay = 0.1})},
  };
}

// How many floats lie between two of one sign.
int64_t UlpsBetween(float a, float b) {
  return std::abs(int64_t{std::bit_cast<int32_t>(a)} -
                  std::bit_cast<int32_t>(b));
}

TEST(OptimTest, HundredStepsOfPyTorch) {
  const std::string table =
      *ReadFile("tests/torch_tables/optimizers.csv");
  int rows = 0;
  for (const Case& c : Cases()) {
    Descent descent(TestDevice::Interpreter());
    const std::vector<float> ours = descent.Run(c.rule, c.rate, 100);
    for (absl::string_view line : absl::StrSplit(table, '\n')) {
      const std::vector<std::string> words = absl::StrSplit(line, ',');
      if (words[0] != c.name) continue;
      ASSERT_EQ(words.size(), 6u) << line;
      ++rows;
      int64_t most = 0;
      for (size_t k = 0; k < ours.size(); ++k) {
        float torch = 0;
        ASSERT_TRUE(absl::SimpleAtof(words[k + 1], &torch)) << line;
        most = std::max(most, UlpsBetween(ours[k], torch));
      }
      EXPECT_LE(most, 2) << c.name << ": " << line << " against "
                         << testing::PrintToString(ours);
    }
  }
  EXPECT_EQ(rows, static_cast<int>(Cases().size()));
}

TEST(OptimTest, TiersAgree) {
  for (const Case& c : Cases()) {
    const std::vector<float> first =
        Descent(TestDevice::Interpreter()).Run(c.rule, c.rate, 10);
    EXPECT_EQ(Descent(*FindTier("auto")).Run(c.rule, c.rate, 10), first)
        << c.name;
  }
}

// The first step of Adam is by the rate, whatever the gradient.
TEST(OptimTest, FirstSteps) {
  using namespace train;  // NOLINT
  auto first = [](const absl::StatusOr<UpdateRule>& rule) {
    return Descent(TestDevice::Interpreter()).Run(rule, 0.5, 1);
  };
  EXPECT_THAT(first(Adam()),
              testing::Pointwise(testing::FloatNear(1e-5f),
                                 {3.0f, -3.5f, 3.5f, 4.5f, -5.5f}));
  EXPECT_THAT(first(Lion()), ElementsAre(3, -3.5, 3.5, 4.5, -5.5));
  // p - 0.5 * (sign + 0.5 * p)
  EXPECT_THAT(first(Lion({.weight_decay = 0.5})),
              ElementsAre(2.375, -2.5, 2.75, 3.25, -4));
}

// What a step prints is the text with the parameters' names.
TEST(OptimTest, SaysWhatItDoes) {
  train::Model model;
  Names names;
  Tensor loss = MustParseTensor(model.graph, "{w = 1; o=[1]} *. w", names);
  auto code = train::RuleUpdate(model, loss, Number(model.graph, 0.5),
                                train::Lion());
  CHECK_OK(code);
  EXPECT_THAT(PrintCd(code->update), HasSubstr("# \"w param lion step\";"));
  EXPECT_THAT(PrintCd(code->update), HasSubstr("lion_c_w =: fma("));
  EXPECT_EQ(PrintCd(code->init), "lion_init ():\n  lion_m_w =: 0 ~logic:\".\";\n");
}

// Parameters of one list have the states of one; each list its own.
TEST(OptimTest, GroupsHaveTheirOwnStates) {
  train::Model model;
  TestDevice host;
  Names names;
  Tensor loss = MustParseTensor(
      model.graph, "{a = 1; o=[1]} *. {b = 1; o=[1]} *. {c = 1; o=[1]}", names);
  const std::vector<Tensor> params = train::Parameters(model, loss);
  ASSERT_EQ(params.size(), 3u);
  auto gradient = train::GradUpdate(model, loss);
  Tensor rate = Named(Number(model.graph, 0.25), "rate");
  auto fast = train::RuleUpdate(model, {params[0]}, rate, train::Adam());
  auto slow = train::RuleUpdate(model, {params[1]}, rate, train::Sgd());
  CHECK_OK(fast);
  CHECK_OK(slow);
  auto init = train::InitParams(model, loss);
  Routine start = *ToRoutine(
      host.context, train::Sequence("init", {*init, fast->init, slow->init}),
      {});
  CHECK_OK(start.Run());
  Routine step = *ToRoutine(
      start.context(),
      train::Sequence("step", {*gradient, fast->update, slow->update}), {});
  EXPECT_THAT(step.context().ArrayNames(),
              testing::IsSupersetOf({"adam_c1_a", "adam_m_a", "adam_v_a"}));
  EXPECT_THAT(step.context().ArrayNames(),
              testing::Not(testing::Contains(HasSubstr("_b"))));
  CHECK_OK(step.Run());
  EXPECT_EQ(host.context.Read("a")->AsDouble(0), 0.75);
  EXPECT_EQ(host.context.Read("b")->AsDouble(0), 0.75);
  EXPECT_EQ(host.context.Read("c")->AsDouble(0), 1);  // frozen
}

// The update of a matrix has singular values near 1: its product with its own
// transpose is near the identity, for wide and tall ones.
TEST(OptimTest, MuonOrthogonalises) {
  for (const bool tall : {false, true}) {
    train::Model model;
    TestDevice host;
    Names names;
    const std::string rows = tall ? "i=[2]; o=[4]" : "i=[4]; o=[2]";
    Tensor loss = MustParseTensor(
        model.graph,
        absl::StrCat("({w = 0; ", rows, "} *. {g = normal(); ", rows,
                     "}) ++ \"...|...->... => 0\""),
        names);
    auto step = train::StartTraining(
        model, loss, Number(model.graph, 1),
        train::Muon({.weight_decay = 0, .nesterov = false}), host.context);
    CHECK_OK(step);
    CHECK_OK(step->Run());
    const NdArray w = *host.context.Read("w");  // rows are outputs
    const int outputs = tall ? 4 : 2;
    const int inputs = 6 - outputs;
    const double scale = tall ? std::sqrt(2.0) : 1;
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 2; ++b) {
        double dot = 0;
        for (int k = 0; k < 4; ++k) {
          dot += tall ? w.AsDouble(k * inputs + a) * w.AsDouble(k * inputs + b)
                      : w.AsDouble(a * inputs + k) * w.AsDouble(b * inputs + k);
        }
        // Newton-Schulz of these coefficients ends in [0.7, 1.2].
        dot /= scale * scale;
        EXPECT_NEAR(dot, a == b ? 1 : 0, 0.5) << a << b;
      }
    }
  }
}

// Parameters a, 1 cell, and b, 2 cells, whose gradients are 3 and (0, 4) times
// the value of the static index `part`, with routines of code made for them.
class AroundTest : public testing::Test {
 protected:
  AroundTest() {
    const int32_t part = model_.graph.AddStatic("part", 100);
    Names names{.statics = {{"part", part}}};
    loss_ = Named(
        MustParseTensor(
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
    auto array = host_.context.Read(name);
    CHECK_OK(array);
    std::vector<double> values;
    for (int64_t k = 0; k < array->size(); ++k) {
      values.push_back(array->AsDouble(k));
    }
    return values;
  }

  train::Model model_;
  Tensor loss_{};
  std::vector<Tensor> params_;
  std::vector<Assignments> inits_;
  TestDevice host_;
};

TEST_F(AroundTest, ClipsByTheNormOfAll) {
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

TEST_F(AroundTest, SmallGradientsStay) {
  auto gradient = train::GradUpdate(model_, loss_);
  CHECK_OK(gradient);
  Routine step =
      Link("step", {*gradient, Code(*train::ClipByGlobalNorm(5.1)).update});
  Start();
  Run(step);
  EXPECT_THAT(Values("a.grad"), ElementsAre(3));
  EXPECT_THAT(Values("b.grad"), ElementsAre(0, 4));
}

TEST_F(AroundTest, GradientsOfPartsAccumulate) {
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

TEST_F(AroundTest, AveragesChangePlaces) {
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

TEST_F(AroundTest, ScaledGradientsComeBack) {
  auto gradient = train::ScaledGradUpdate(model_, loss_, 1024);
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

using MakeRate = Tensor (*)(Graph& graph, int32_t step);

// The schedule at some steps.
std::vector<float> Rates(MakeRate make, const std::vector<int64_t>& steps) {
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
  EXPECT_THAT(Rates(cosine, {0, 2, 4, 9}),
              testing::Pointwise(testing::FloatNear(1e-6f),
                                 {3.0f, 2.0f, 1.0f, 1.0f}));
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

TEST(OptimTest, OptionsOutOfRangeAreErrors) {
  using namespace train;  // NOLINT
  auto message = [](const absl::StatusOr<UpdateRule>& rule) {
    return std::string(rule.status().message());
  };
  EXPECT_EQ(message(Sgd({.momentum = 1})), "momentum is 1; it must be in [0, 1)");
  EXPECT_EQ(message(Adam({.beta2 = -0.5})),
            "beta2 is -0.5; it must be in [0, 1)");
  EXPECT_EQ(message(AdamW({.weight_decay = -1})),
            "weight_decay is -1; it must be finite and not negative");
  EXPECT_EQ(message(Sgd({.nesterov = true})),
            "nesterov needs momentum; set momentum above 0");
  Descent descent(TestDevice::Interpreter());
  Names names;
  Tensor loss = MustParseTensor(descent.model.graph, "{w = 1; o=[1]} *. w",
                                names);
  auto errors = [&](absl::Span<const Tensor> params, const UpdateRule& rule) {
    return std::string(RuleUpdate(descent.model, params,
                                  Number(descent.model.graph, 1), rule)
                           .status()
                           .message());
  };
  EXPECT_EQ(errors({}, *Sgd()), "there are no parameters for sgd");
  EXPECT_EQ(errors({loss}, *Sgd()),
            "`" + loss.node().name + "` is not a parameter");
  const UpdateRule wrong{.name = "mine", .text = "\nfor p in weights do p =: 0"};
  EXPECT_THAT(errors(Parameters(descent.model, loss), wrong),
              HasSubstr("line 2, column 10: no list `weights`"));
}

}  // namespace
}  // namespace ocannl
