// SPDX-License-Identifier: Apache-2.0
//
// Frozen parameters, which no gradient reaches: no optimiser changes them, and
// they are initialized, saved and shared between devices as all others are.
// PyTorch's optimisers skip them likewise, as their `grad` is None. 2 seconds.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/statements/define.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "ocannl/train/optim/loss_scale.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/optim/transforms.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> NamesOf(absl::Span<const Tensor> tensors) {
  std::vector<std::string> names;
  for (Tensor t : tensors) names.push_back(t.node().name);
  return names;
}

std::vector<std::string> NamesOf(absl::Span<const Array> arrays) {
  std::vector<std::string> names;
  for (const Array& array : arrays) names.push_back(array.name);
  return names;
}

// Of 2 inputs, so that Muon takes them; `back` is 1, which decay would change.
constexpr char kLoss[] = R"(
    square ({head = 0.5; i=[2]; o=[2]} *
            stop_gradient ({back = 1; i=[2]; o=[2]} * [1, -2]))
    ++ "...|... => 0")";

std::vector<absl::StatusOr<UpdateRule>> RulesWithDecay() {
  const UpdateRule clipped =
      Chain({*ClipByGlobalNorm(0.5), *AdamW({.weight_decay = 0.1}), *Ema(0.5)});
  return {Sgd({.weight_decay = 0.1}),
          Sgd({.momentum = 0.9, .weight_decay = 0.1, .nesterov = true}),
          Adam({.weight_decay = 0.1}),
          Adam({.weight_decay = 0.1, .amsgrad = true}),
          AdamW({.weight_decay = 0.1}),
          RmsProp({.weight_decay = 0.1, .momentum = 0.9, .centered = true}),
          Adagrad({.weight_decay = 0.1}),
          Adadelta({.weight_decay = 0.1}),
          Lion({.weight_decay = 0.1}),
          Muon({.weight_decay = 0.1}),
          clipped};
}

std::vector<float> Read(const Context& context, const std::string& name) {
  auto value = context.Read(name);
  CHECK_OK(value);
  return {value->values<float>().begin(), value->values<float>().end()};
}

TEST(FrozenTest, NoRuleChangesThem) {
  for (const std::string& tier : AvailableTiers()) {
    for (const absl::StatusOr<UpdateRule>& rule : RulesWithDecay()) {
      CHECK_OK(rule);
      SCOPED_TRACE(absl::StrCat(rule->name, " on ", tier));
      Model model;
      const Tensor loss = MustParseTensor(model.graph, kLoss);
      TestDevice host(*FindTier(tier));
      auto step = StartTraining(model, loss, Number(model.graph, 0.01), rule,
                                host.context);
      ASSERT_THAT(step, IsOk());
      const std::vector<float> head = Read(host.context, "head");
      for (int k = 0; k < 3; ++k) CHECK_OK(step->Run());
      EXPECT_THAT(Read(host.context, "back"), Each(1));
      EXPECT_NE(Read(host.context, "head"), head);
      EXPECT_THAT(host.context.ArrayNames(), Contains("back"));
      EXPECT_THAT(host.context.ArrayNames(),
                  Not(Contains(HasSubstr("_back"))));  // no states
    }
  }
}

// The norm of all gradients, and the scale of the loss, are those of the
// others.
TEST(FrozenTest, TheyCountInNoNorm) {
  auto head_after = [](const std::string& text) {
    Model model;
    const Tensor loss = MustParseTensor(model.graph, text);
    auto scale = LossScaleFor(DType::kF16, model);
    CHECK_OK(scale);
    auto gradient = GradUpdate(model, loss, {.scaled_by = TensorOf(*scale)});
    CHECK_OK(gradient);
    auto update = ScaledRuleUpdate(
        model, Parameters(model, loss), Number(model.graph, 0.25),
        Chain({*ClipByGlobalNorm(1), *Sgd({.weight_decay = 0.5})}), *scale);
    CHECK_OK(update);
    const TestDevice host;
    auto init = InitParams(model, loss);
    CHECK_OK(init);
    Routine start =
        *ToRoutine(host.context, Sequence("init", {*init, update->init}), {});
    CHECK_OK(start.Run());
    Routine step = *ToRoutine(
        start.context(), Sequence("step", {*gradient, update->update}), {});
    CHECK_OK(step.Run());
    return Read(host.context, "head");
  };
  const std::vector<float> frozen = head_after(
      "{head = 3; o=[1]} *. stop_gradient({back = 2; o=[1]}) ++ \"... => 0\"");
  EXPECT_EQ(frozen, head_after("{head = 3; o=[1]} *. 2 ++ \"... => 0\""));
}

TEST(FrozenTest, WhatParametersAre) {
  struct Case {
    std::string text;
    std::vector<std::string> trained;
  };
  for (const Case& c : std::vector<Case>{
           {"{a} *. {b}", {"a", "b"}},
           {"{a} *. stop_gradient({b})", {"a"}},
           // One of the paths is enough, also where its gradient is 0.
           {"let b = {b} in {a} *. stop_gradient(b) + 0 *. b", {"b", "a"}},
           {"{a} *. stop_gradient({b} *. {c} + {d})", {"a"}},
           // Operations without a gradient.
           {"where({b} < 1, {a}, {c})", {"a", "c"}},
           {"{a} *. floor({b})", {"a"}},
           {"{a} *. f32(i32({b}))", {"a"}},
           {"relu_gate({b} *. {c}, {a})", {"a"}},
           {"{a} *. one_hot(i32({b}), 3) ++ \"o => 0\"", {"a"}}}) {
    Model model;
    Names names;
    const Tensor t = MustParseTensor(model.graph, c.text, names);
    EXPECT_EQ(NamesOf(Parameters(model, t)), c.trained) << c.text;
    EXPECT_EQ(NamesOf(AllParameters(model, t)).size(), names.tensors.size())
        << c.text;
  }
  Model model;
  Names names;
  auto half = DefineOp("half", "v =: v1 * v2", "g1 =+ g * v2");
  CHECK_OK(half);
  const Tensor a = MustParseTensor(model.graph, "{a; o=[1]}", names);
  const Tensor b = MustParseTensor(model.graph, "{b; o=[1]}", names);
  const Tensor halved = ApplyDefined(*half, {a, b});
  EXPECT_THAT(NamesOf(Parameters(model, halved)), ElementsAre("a"));
  EXPECT_THAT(NamesOf(Parameters(model, halved + b)), ElementsAre("a", "b"));
  const Tensor nothing = Less(a, 1);
  EXPECT_TRUE(Parameters(model, nothing).empty());
  EXPECT_EQ(AllParameters(model, nothing).size(), 1u);
  EXPECT_THAT(RuleUpdate(model, nothing, std::nullopt, Lion()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the gradient reaches none")));
}

TEST(FrozenTest, TheyAreSaved) {
  Model model;
  const Tensor loss = MustParseTensor(model.graph, kLoss);
  const TestDevice host;
  auto step = StartTraining(model, loss, Number(model.graph, 0.01),
                            Sgd({.momentum = 0.9}), host.context);
  CHECK_OK(step);
  auto params = ParamArrays(model, loss);
  ASSERT_THAT(params, IsOk());
  EXPECT_THAT(NamesOf(*params), ElementsAre("head", "back"));
  EXPECT_THAT(NamesOf(StateArrays({&step->program()})),
              ElementsAre("head", "sgd_momentum_head"));
  auto state = StateArrays(model, loss, {&step->program()});
  ASSERT_THAT(state, IsOk());
  EXPECT_THAT(NamesOf(*state),
              ElementsAre("back", "head", "sgd_momentum_head"));
}

class FrozenTrainerTest : public testing::TestWithParam<TrainerMode> {};
INSTANTIATE_TEST_SUITE_P(Modes, FrozenTrainerTest,
                         testing::Values(TrainerMode::kEager,
                                         TrainerMode::kCompiled));

ParamList Cells(const std::vector<float>& values) {
  std::vector<NdArray> cells;
  for (float value : values) cells.push_back(NdArray::Of<float>({1}, {value}));
  auto params = ParamList::Allocate(std::move(cells));
  CHECK_OK(params);
  return *std::move(params);
}

TEST_P(FrozenTrainerTest, DetachFreezes) {
  for (const auto& rule : RulesWithDecay()) {
    ScalarTrainer trainer(
        TestDevice::Interpreter(), Cells({1, 1, 1}),
        [](Ops& ops, absl::Span<const Ref> args) {  // the last is not used
          return ops.Sum(ops.Mul(ops.Detach(args[0]), args[1]));
        },
        {.mode = GetParam()});
    CHECK_OK(trainer.set_rule(rule));
    for (int k = 0; k < 3; ++k) CHECK_OK(trainer.Step(0.01, {}));
    auto params = trainer.GetParams();
    ASSERT_THAT(params, IsOk());
    EXPECT_EQ((*params)[0].AsDouble(0), 1) << rule->name;
    EXPECT_EQ((*params)[2].AsDouble(0), 1) << rule->name;
    if (rule->name == "muon") continue;  // takes matrices only
    EXPECT_NE((*params)[1].AsDouble(0), 1) << rule->name;
  }
}

// A step that uses another branch leaves the parameters of this one and their
// momenta alone: p = -1; then v = 0.5 + 1 - 0.5, p = -2.
TEST(FrozenTrainer, BranchesOfAnEagerStep) {
  int branch = 0;
  ScalarTrainer trainer(TestDevice::Interpreter(), Cells({0, 0}),
                        [&](Ops& ops, absl::Span<const Ref> args) {
                          const Ref used = args[branch];
                          const Ref other = ops.Detach(args[1 - branch]);
                          return ops.Sum(ops.Add(used, other));
                        });
  CHECK_OK(trainer.set_rule(Sgd({.momentum = 0.5, .weight_decay = 0.5})));
  std::vector<std::vector<double>> seen;
  for (int next : {0, 1, 1, 0}) {
    branch = next;
    CHECK_OK(trainer.Step(1, {}));
    auto params = trainer.GetParams();
    CHECK_OK(params);
    seen.push_back({(*params)[0].AsDouble(0), (*params)[1].AsDouble(0)});
  }
  EXPECT_THAT(seen, ElementsAre(ElementsAre(-1, 0), ElementsAre(-1, -1),
                                ElementsAre(-1, -2), ElementsAre(-2, -2)));
}

// The loss is (head * back * x - y)^2 with a `back` that the host gives.
TEST(FrozenTest, ShardsShareThem) {
  const NdArray x = NdArray::Of<float>({4}, {1, 2, 3, 4});
  auto train = [&](int64_t n_shards, bool differs) {
    int shard = 0;
    return DataParallel::Make(
        TestDevice::Interpreter(),
        {.n_shards = n_shards, .reduction = Reduction::kSum}, {{"x", x}},
        [&](Model& model, absl::Span<const Tensor> inputs) {
          Names names = {.tensors = {{"x", inputs[0]}}};
          const std::string back = "{back = 1; o=[1]}";
          return MustParseTensor(
              model.graph,
              absl::StrCat("square({head = 0.5; o=[1]} *. ",
                           differs && shard++ > 0
                               ? back
                               : absl::StrCat("stop_gradient(", back, ")"),
                           " *. x) ++ \"...|... => 0\""),
              names);
        },
        [](Model& model, Tensor loss, const auto&) {
          return SgdUpdate(model, loss, Number(model.graph, 0x1p-8),
                           {.momentum = 0.5, .weight_decay = 0.5});
        });
  };
  std::vector<float> heads;
  for (int64_t n_shards : {1, 2, 4}) {
    auto training = train(n_shards, false);
    ASSERT_THAT(training, IsOk());
    EXPECT_THAT(NamesOf(training->OwnerParams()), ElementsAre("head", "back"));
    const Context& owner = training->OwnerContext();
    CHECK_OK(owner.Write("back", NdArray::Of<float>({1}, {2})));
    for (int k = 0; k < 3; ++k) CHECK_OK(training->Step());
    EXPECT_THAT(Read(owner, "back"), ElementsAre(2));
    heads.push_back(Read(owner, "head")[0]);
  }
  EXPECT_NE(heads[0], 0.5);
  EXPECT_THAT(heads, Each(heads[0]));
  EXPECT_THAT(train(2, true), StatusIs(absl::StatusCode::kInvalidArgument,
                                       HasSubstr("back : f32[1] (frozen)")));
}

// SetFrozen gives the bits that StopGradient does.
TEST(FrozenTest, ByNameOnShards) {
  const NdArray x = NdArray::Of<float>({4}, {1, 2, 3, 4});
  for (const std::string& tier : AvailableTiers()) {
    for (int64_t n_shards : {1, 2}) {
      std::vector<float> heads;
      for (const bool by_name : {false, true}) {
        auto training = DataParallel::Make(
            *FindTier(tier), {.n_shards = n_shards}, {{"x", x}},
            [&](Model& model,
                absl::Span<const Tensor> inputs) -> absl::StatusOr<Tensor> {
              Names names = {.tensors = {{"x", inputs[0]}}};
              const std::string back = "{back = 1; o=[1]}";
              const Tensor loss = MustParseTensor(
                  model.graph,
                  absl::StrCat("square({head = 0.5; o=[1]} *. ",
                               by_name
                                   ? back
                                   : absl::StrCat("stop_gradient(", back, ")"),
                               " *. x) ++ \"...|... => 0\""),
                  names);
              if (!by_name) return loss;
              const Tensor param{&model.graph, *model.graph.Find("back")};
              OCANNL_RETURN_IF_ERROR(SetFrozen(model, param, true));
              return loss;
            },
            [](Model& model, Tensor loss, const auto&) {
              return SgdUpdate(model, loss, Number(model.graph, 0.01),
                               {.momentum = 0.5, .weight_decay = 0.5});
            });
        ASSERT_THAT(training, IsOk());
        for (int k = 0; k < 3; ++k) CHECK_OK(training->Step());
        EXPECT_THAT(Read(training->OwnerContext(), "back"), ElementsAre(1));
        heads.push_back(Read(training->OwnerContext(), "head")[0]);
      }
      EXPECT_NE(heads[0], 0.5) << tier;
      EXPECT_EQ(heads[0], heads[1]) << tier << ", " << n_shards;
    }
  }
}

}  // namespace
}  // namespace ocannl::train
