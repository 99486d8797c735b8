// SPDX-License-Identifier: Apache-2.0
//
// Training code on numbers that can be worked out by hand.
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/notation/scope.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/run/sequential_loop.h"
#include "tests/support/every_code_is_text.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class TrainTest : public testing::Test {
 protected:
  Tensor Parse(const std::string& text) {
    return MustParseTensor(model_.graph, text, names_);
  }

  Routine Link(const Context& context, const Assignments& code) {
    auto routine = ToRoutine(context, code, {});
    CHECK_OK(routine);
    return *std::move(routine);
  }

  double Value(const Context& context, const std::string& name) {
    auto array = context.Read(name);
    CHECK_OK(array);
    return array->AsDouble(0);
  }

  // w after `steps` updates by the gradient 2 w of w * w, from w = 1.
  double Descend(const train::SgdOptions& options, int steps,
                 const std::string& text = "{w = 1; o=[1]} *. w") {
    Tensor loss = Parse(text);
    Tensor rate = Number(model_.graph, 0.125);
    auto init = train::InitParams(model_, loss);
    auto grad = train::GradUpdate(model_, loss);
    auto sgd = train::SgdUpdate(model_, loss, rate, options);
    CHECK_OK(sgd);
    Routine start =
        Link(host_.context, train::Sequence("init", {*init, sgd->init}));
    CHECK_OK(start.Run());
    Routine step =
        Link(start.context(), train::Sequence("step", {*grad, sgd->update}));
    for (int k = 0; k < steps; ++k) CHECK_OK(step.Run());
    return Value(host_.context, "w");
  }

  train::Model model_;
  Names names_;
  TestDevice host_;
};

TEST_F(TrainTest, PlainDescent) {
  // w - 0.125 * 2 w = 0.75 w
  EXPECT_EQ(Descend({}, 2), 0.5625);
}

TEST_F(TrainTest, NarrowParametersRoundToEven) {
  // f16(0.1) is 1638 steps; 0.75 * 1638 = 1228.5
  EXPECT_EQ(Descend({}, 1, "{w: f16 = 0.1:f16; o=[1]} *. w"), 1228 * 0x1p-14);
}

TEST_F(TrainTest, WeightDecay) {
  // w - 0.125 * (2 w + 2 w) = 0.5 w
  EXPECT_EQ(Descend({.weight_decay = 2}, 2), 0.25);
}

TEST_F(TrainTest, MomentumKeepsItsState) {
  // m = 2, w = 0.75; m = 1 + 1.5 = 2.5, w = 0.75 - 0.3125
  EXPECT_EQ(Descend({.momentum = 0.5}, 2), 0.4375);
}

TEST_F(TrainTest, Nesterov) {
  // delta = 2 + 0.5 * 2 = 3, w = 0.625
  // m = 1 + 1.25 = 2.25, delta = 1.25 + 1.125 = 2.375, w = 0.625 - 0.296875
  EXPECT_EQ(Descend({.momentum = 0.5, .nesterov = true}, 2), 0.328125);
}

TEST_F(TrainTest, OptionsOutOfRangeAreErrors) {
  Tensor loss = Parse("{w = 1; o=[1]} *. w");
  Tensor rate = Number(model_.graph, 0.1);
  auto message = [&](const train::SgdOptions& options) {
    auto sgd = train::SgdUpdate(model_, loss, rate, options);
    model_.computed_by = {};
    return std::string(sgd.status().message());
  };
  EXPECT_EQ(message({.momentum = 1}), "momentum is 1; it must be in [0, 1)");
  EXPECT_THAT(message({.weight_decay = -1}), HasSubstr("weight_decay is -1"));
  EXPECT_EQ(message({.nesterov = true}),
            "nesterov needs momentum; set momentum above 0");
  EXPECT_EQ(message({}), "");
}

TEST_F(TrainTest, CodeIsConsumedOnce) {
  Tensor inner = Parse("{w = 1; o=[1]} *. w");
  names_.tensors.emplace("inner", Named(inner, "inner"));
  Tensor loss = Named(Parse("inner + 1"), "loss");
  ASSERT_THAT(train::GradUpdate(model_, loss), IsOk());
  EXPECT_THAT(
      std::string(train::Forward(model_, inner).status().message()),
      AllOf(HasSubstr("is computed already, by the forward code of `loss`; to "
                      "read its value there, call SetMemoryMode(inner, "),
            HasSubstr("; to compute it again, build its expression anew")));
  EXPECT_THAT(std::string(train::Forward(model_, loss).status().message()),
              HasSubstr("; read its value: context.Read(\"loss\"); "));
  EXPECT_FALSE(train::GradUpdate(model_, loss).ok());
  EXPECT_FALSE(train::GradUpdate(model_, Number(model_.graph, 1)).ok());
}

TEST_F(TrainTest, ALossHasOneCell) {
  const std::string fault =
      " has shape 2; it must have one cell, as `++ \"...|... => 0\"` gives it";
  Tensor loss = Parse("{w = 1; o=[2]} *. w");
  const auto unnamed = train::GradUpdate(model_, loss);
  EXPECT_THAT(std::string(unnamed.status().message()),
              AllOf(StartsWith("the loss `w *. w` ("), EndsWith(fault)));
  EXPECT_EQ(train::GradUpdate(model_, Named(loss, "loss")).status().message(),
            "the loss `loss`" + fault);
  // Nothing of it is consumed, and its sum may be meant.
  EXPECT_THAT(train::GradUpdateOfSum(model_, loss), IsOk());
}

TEST_F(TrainTest, TensorsOfAnotherGraphAreAnError) {
  Graph other;
  const Tensor far = Number(other, 1, {"far.cc", 3});
  const std::string fault =
      "`1` (far.cc:3) is a tensor of another graph than the model's; make it "
      "in that one";
  Tensor loss = Parse("{w = 1; o=[1]} *. w");
  auto message = [](const auto& result) {
    return std::string(result.status().message());
  };
  EXPECT_EQ(message(train::Forward(model_, far)), fault);
  EXPECT_EQ(message(train::GradUpdate(model_, far)), fault);
  EXPECT_EQ(message(train::GradUpdateOfSum(model_, far)), fault);
  EXPECT_EQ(message(train::InitParams(model_, far)), fault);
  EXPECT_EQ(message(train::SgdUpdate(model_, far, far, {})), fault);
  EXPECT_EQ(message(train::SgdUpdate(model_, loss, far, {})), fault);
  EXPECT_TRUE(train::Parameters(model_, far).empty());
  names_.tensors.emplace("far", far);
  EXPECT_EQ(message(train::ParseCode(model_, "w =: far", names_)), fault);
}

TEST_F(TrainTest, WhatIsKeptIsReadWithoutItsOperands) {
  names_.tensors.emplace("inner", Named(Parse("{w = 1; o=[1]} *. w"), "inner"));
  Tensor kept = Named(Parse("inner + 1"), "kept");
  names_.tensors.emplace("kept", kept);
  ASSERT_THAT(SetMemoryMode(kept, MemoryMode::kMaterialized), IsOk());
  Tensor loss = Named(Parse("kept *. kept"), "loss");
  ASSERT_THAT(train::GradUpdate(model_, loss), IsOk());
  auto code = train::Forward(model_, Named(Parse("kept + 2"), "next"));
  ASSERT_THAT(code, IsOk());
  EXPECT_THAT(PrintCd(*code), HasSubstr("next =: kept +"));
  EXPECT_THAT(PrintCd(*code), Not(HasSubstr("inner")));
}

TEST_F(TrainTest, BackwardWithoutForwardNamesWhatIsMissing) {
  Tensor inner = Named(Parse("{w = 1; o=[1]} *. w"), "inner");
  names_.tensors.emplace("inner", inner);
  Tensor loss = Named(Parse("inner *. inner"), "loss");
  CHECK_OK(InferShapes(model_.graph, {loss.id}, model_.shapes));
  auto code =
      Backward(model_.graph, model_.shapes, loss.id, model_.computed_by);
  ASSERT_THAT(code, IsOk());
  auto routine = ToRoutine(host_.context,
                           train::Sequence("backward", {code->Whole()}), {});
  EXPECT_THAT(std::string(routine.status().message()),
              HasSubstr("`inner` is read in `backward`, which does not compute "
                        "it first"));
}

TEST_F(TrainTest, SequentialLoopVisitsAllCombinations) {
  int32_t i = model_.graph.AddStatic("i", 2);
  int32_t j = model_.graph.AddStatic("j", 3);
  model_.graph.AddStatic("unused", 5);
  names_.statics = {{"i", i}, {"j", j}};
  Tensor t = Named(Parse("!@i *. 10 + !@j"), "t");
  auto code = train::Forward(model_, t);
  ASSERT_THAT(code, IsOk());
  Routine routine = Link(host_.context, *code);
  ASSERT_EQ(routine.statics().size(), 2u);
  CHECK_OK(routine.Set("i", 1));
  std::vector<double> seen;
  CHECK_OK(train::SequentialLoop(routine.statics(), [&] {
    absl::Status status = routine.Run();
    seen.push_back(Value(host_.context, "t"));
    return status;
  }));
  EXPECT_THAT(seen, testing::ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_EQ(routine.Static("i")->value(), 1);
  int calls = 0;
  EXPECT_FALSE(train::SequentialLoop(routine.statics(), [&] {
                 ++calls;
                 return absl::InternalError("stop");
               }).ok());
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace ocannl
