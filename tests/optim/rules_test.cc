// SPDX-License-Identifier: Apache-2.0
//
// Update rules: what their first steps are by hand, that their states are in
// checkpoints, and what PyTorch's optimisers of the same name do in 100 steps
// (tests/optim/torch_tables).
#include "ocannl/train/optim/rules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rule.h"
#include "tests/support/every_code_is_text.h"
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
    Tensor loss =
        MustParseTensor(model.graph,
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
      {"adamw_default", 0.05, AdamW({.beta1 = 0.9})},
      {"rmsprop", 0.01, RmsProp()},
      {"rmsprop_centered", 0.01,
       RmsProp({.alpha = 0.9,
                .weight_decay = 0.01,
                .momentum = 0.9,
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
      *ReadFile("tests/optim/torch_tables/optimizers.csv");
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
  auto code =
      train::RuleUpdate(model, loss, Number(model.graph, 0.5), train::Lion());
  CHECK_OK(code);
  EXPECT_THAT(PrintCd(code->update), HasSubstr("/* w param lion step */"));
  EXPECT_THAT(PrintCd(code->update), HasSubstr("lion_c_w =: fma("));
  EXPECT_EQ(
      PrintCd(code->init),
      "lion_init ():\n  lion_m_w : f32[1] on_device \"reads its value of the "
      "last run\";\n  lion_m_w =: 0;\n");
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
  Routine start =
      *ToRoutine(host.context,
                 train::Sequence("init", {*init, fast->init, slow->init}), {});
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
    Tensor loss =
        MustParseTensor(model.graph,
                        absl::StrCat("({w = 0; ", rows, "} *. {g = normal(); ",
                                     rows, "}) ++ \"...|...->... => 0\""),
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
        // Newton-Schulz of these coefficients ends in [0.7, 1.2], of which the
        // squares are in [0.49, 1.44].
        dot /= scale * scale;
        EXPECT_NEAR(dot, a == b ? 1 : 0, 0.51) << a << b;
      }
    }
  }
}

TEST(OptimTest, OptionsOutOfRangeAreErrors) {
  using namespace train;  // NOLINT
  auto message = [](const absl::StatusOr<UpdateRule>& rule) {
    return std::string(rule.status().message());
  };
  EXPECT_EQ(message(Sgd({.momentum = 1})),
            "momentum is 1; it must be in [0, 1)");
  EXPECT_EQ(message(Adam({.beta2 = -0.5})),
            "beta2 is -0.5; it must be in [0, 1)");
  EXPECT_EQ(message(AdamW({.weight_decay = -1})),
            "weight_decay is -1; it must be finite and not negative");
  EXPECT_EQ(message(Sgd({.nesterov = true})),
            "nesterov needs momentum; set momentum above 0");
  Descent descent(TestDevice::Interpreter());
  Names names;
  Tensor loss =
      MustParseTensor(descent.model.graph, "{w = 1; o=[1]} *. w", names);
  auto errors = [&](absl::Span<const Tensor> params, const UpdateRule& rule) {
    return std::string(
        RuleUpdate(descent.model, params, Number(descent.model.graph, 1), rule)
            .status()
            .message());
  };
  EXPECT_EQ(errors({}, *Sgd()),
            "there are no parameters for sgd: none is given, or the gradient "
            "reaches none");
  EXPECT_EQ(errors({loss}, *Sgd()),
            "`" + loss.node().name + "` is not a parameter");
  // What fails consumes nothing.
  EXPECT_FALSE(StartTraining(descent.model, loss,
                             Number(descent.model.graph, 1),
                             Sgd({.momentum = 1}), descent.host.context)
                   .ok());
  EXPECT_THAT(GradUpdate(descent.model, loss), IsOk());
  const UpdateRule wrong{.name = "mine",
                         .text = "\nfor p in weights do p =: 0"};
  EXPECT_THAT(errors(Parameters(descent.model, loss), wrong),
              HasSubstr("line 2, column 10: no list `weights`"));
}

}  // namespace
}  // namespace ocannl
