// SPDX-License-Identifier: Apache-2.0
//
// On what noise depends: in a training, on its step; without one, on nothing.
// 1 second.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/graph/code.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/parallel/example_train_loop.h"
#include "tests/agree/all_tiers.h"
#include "tests/random/draws.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;
using train::Training;

constexpr DrawOptions kFew = {.cells = 8};

TEST(NoiseTest, IsOfTheStep) {
  const auto plain = [](Tensor ones, Training&) {
    return Normal1(*ones.graph);
  };
  const std::vector<Cells> steps = DrawSteps(plain, kFew, {0, 1, 0});
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_EQ(steps[0], steps[2]);
  const auto explicit_step = [](Tensor ones, Training& training) {
    return Normal1(*ones.graph,
                   {.counter = EmbedSymbol(*ones.graph, training.step)});
  };
  EXPECT_EQ(DrawSteps(explicit_step, kFew, {0, 1, 0}), steps);
  const auto constant = [](Tensor ones, Training&) {
    return Normal1(*ones.graph, {.counter = Number(*ones.graph, 0)});
  };
  EXPECT_EQ(DrawSteps(constant, kFew, {0, 1}),
            (std::vector<Cells>{steps[0], steps[0]}));
}

// A counter that is computed, of u32.
TEST(NoiseTest, IsOfACounter) {
  const auto at = [](double number) {
    return [=](Tensor ones, Training&) {
      const Tensor counter =
          Data(*ones.graph, "counter", NdArray::Of<uint32_t>({}, {3}),
               {.rows = {Dims{}, Dims{}, Dims{}}});
      return Uniform(*ones.graph, {.counter = counter + number});
    };
  };
  const Cells four = DrawCells(at(1), kFew);
  EXPECT_NE(DrawCells(at(2), kFew), four);
  EXPECT_EQ(DrawCells(
                [](Tensor ones, Training&) {
                  return Uniform(*ones.graph,
                                 {.counter = Number(*ones.graph, 4)});
                },
                kFew),
            four);
}

Tensor Cell(Graph& graph, const std::string& name, const Initializer& init) {
  return train::MakeParam({.graph = &graph, .name = ""}, name, Dims{1}, Dims{},
                          init);
}

Tensor Sum(Tensor t) { return Named(Einsum1("...|... => 0", t), "loss"); }

// The step may be added after the draw.
TEST(NoiseTest, OfALossNeedsAStep) {
  train::Model model;
  const Tensor w = Cell(model.graph, "w", DefaultInit);
  const Tensor loss = Sum(PointMul(w, Uniform1(model.graph)));
  const auto code_of_text = [&] {
    return train::ParseCode(model,
                            "loss.forward; loss.zero_grads; "
                            "loss.backprop",
                            {.tensors = {{"loss", loss}}});
  };
  for (const absl::Status& status :
       {train::GradUpdate(model, loss).status(),
        train::GradUpdateOfSum(model, loss).status(),
        code_of_text().status()}) {
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("would be the same in each step of the "
                                   "training; add a static index `step`")));
  }
  model.computed_by = {};
  model.graph.AddStatic("step", std::nullopt);
  absl::StatusOr<Assignments> code = train::GradUpdate(model, loss);
  ASSERT_THAT(code, IsOk());
  absl::StatusOr<Assignments> init = train::InitParams(model, loss);
  ASSERT_THAT(init, IsOk());
  const TestDevice host;
  absl::StatusOr<Routine> first = ToRoutine(host.context, *init, {});
  ASSERT_THAT(first, IsOk());
  ASSERT_THAT(first->Run(), IsOk());  // first values are of no step
  absl::StatusOr<Routine> step = ToRoutine(first->context(), *code, {});
  ASSERT_THAT(step, IsOk());
  EXPECT_THAT(step->Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    HasSubstr("static index `step`")));
  absl::StatusOr<LoopProgram> program = CompileProgram(*code, {});
  ASSERT_THAT(program, IsOk());
  EXPECT_TRUE(fuzz::TiersAgree(*program));
}

TEST(NoiseTest, FirstValuesAreThoseOfAGraphWithoutAStep) {
  auto value = [](bool has_step) {
    train::Model model;
    if (has_step) model.graph.AddStatic("step", std::nullopt);
    const Tensor w = Cell(model.graph, "w", DefaultInit);
    const TestDevice host;
    absl::StatusOr<Routine> init =
        ToRoutine(host.context, *train::InitParams(model, w), {});
    CHECK_OK(init);
    CHECK_OK(init->Run());
    return init->context().Read("w")->AsDouble(0);
  };
  EXPECT_EQ(value(true), value(false));
}

// Code of an update, which has indices of its own.
TEST(NoiseTest, OfCode) {
  train::Model model;
  const Tensor w = Cell(model.graph, "w", DefaultInit);
  model.graph.AddStatic("step", std::nullopt);
  absl::StatusOr<train::UpdateCode> code =
      train::ParseCode(model, "w =: uniform()", {.tensors = {{"w", w}}});
  ASSERT_THAT(code, IsOk());
  const TestDevice host;
  absl::StatusOr<Routine> routine =
      ToRoutine(host.context, train::Sequence("code", {code->update}), {});
  ASSERT_THAT(routine, IsOk());
  std::vector<double> values;
  for (const int64_t step : {0, 1}) {
    CHECK_OK(routine->Set("step", step));
    CHECK_OK(routine->Run());
    values.push_back(routine->context().Read("w")->AsDouble(0));
  }
  EXPECT_NE(values[0], values[1]);
}

// Each minibatch of a training has noise of its own, on one device or on two;
// that of the prediction is of step 0.
TEST(NoiseTest, OfAnExampleTrainLoop) {
  auto losses = [](int count, double* answer) {
    VirtualDevices devices(TestDevice::Interpreter(), count);
    auto examples = [](Graph& graph, Dims batches) {
      return Data(graph, graph.Find("x") ? "y" : "x",
                  NdArray(DType::kF32, {batches[0], batches[1], 1}),
                  {.rows = {batches, Dims{1}, Dims{}}});
    };
    auto net = [](Graph& graph) {
      const Tensor w = Cell(graph, "w", DefaultInit);
      return [=, &graph](Tensor x) { return PointMul(w, x) + Uniform1(graph); };
    };
    auto trained = train::ExampleTrainLoop(
        devices,
        {.batch_size = count, .init_lr = 0, .data_len = 8, .epochs = 2},
        examples, examples, net, [](Tensor output, Tensor) { return output; });
    CHECK_OK(trained);
    *answer = (*trained)->Infer(NdArray::Of<float>({1}, {7}))->AsDouble(0);
    return std::move((*trained)->batch_losses);
  };
  double answer = 0;
  const std::vector<double> one = losses(1, &answer);
  EXPECT_GE(answer, -7 * 0.25);
  ASSERT_EQ(one.size(), 16);
  for (size_t k = 1; k < one.size(); ++k) EXPECT_NE(one[k], one[k - 1]) << k;
  const std::vector<double> two = losses(2, &answer);
  ASSERT_EQ(two.size(), 8);
  for (size_t k = 0; k < two.size(); ++k) {
    EXPECT_NEAR(two[k], (one[2 * k] + one[2 * k + 1]) / 2, 1e-6) << k;
  }
}

TEST(NoiseTest, HasAtMostAsManyCellsAsU32Numbers) {
  auto inferred = [](int64_t cells) {
    train::Model model;
    const Tensor sum =
        Sum(Range(model.graph, cells, DType::kF32) + Uniform(model.graph));
    return InferShapes(model.graph, {sum.id}, model.shapes);
  };
  EXPECT_THAT(inferred(int64_t{1} << 32), IsOk());
  EXPECT_THAT(inferred((int64_t{1} << 32) + 1),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("it has more than 2^32 cells")));
}

}  // namespace
}  // namespace ocannl
