// SPDX-License-Identifier: Apache-2.0
//
// The running half of the source documents' training library, on numbers that
// can be worked out by hand.
#include "ocannl/train/run/run.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/print_tree.h"
#include "ocannl/print_values.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/compat/ocannl_names.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/parallel/example_train_loop.h"
#include "ocannl/train/run/debug.h"
#include "tests/support/must_parse_tensor.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class RunTest : public testing::Test {
 protected:
  Tensor Parse(const std::string& name, const std::string& text) {
    Tensor tensor = Named(MustParseTensor(model_.graph, text, names_), name);
    names_.tensors.insert_or_assign(name, tensor);
    return tensor;
  }

  train::Model model_;
  Names names_;
  TestDevice host_;
};

TEST_F(RunTest, ForwardAndForget) {
  Tensor t = Parse("t", "{w = 3; o=[1]} *. w + 1");
  auto value = train::ForwardAndForget(model_, t, TestDevice::Interpreter());
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(value->AsDouble(0), 10);
  // Nobody has seen anything.
  EXPECT_THAT(train::ForwardAndForget(model_, t, TestDevice::Interpreter()),
              IsOk());
  EXPECT_THAT(train::GradUpdate(model_, t), IsOk());
  EXPECT_THAT(train::ForwardAndForget(model_, t, TestDevice::Interpreter()),
              IsOk());
}

// Parameters that are there keep their values.
TEST_F(RunTest, ForwardAndContext) {
  Tensor t = Parse("t", "{w = 3; o=[1]} *. {v = 2; o=[1]}");
  CHECK_OK(host_.context.Write("w", NdArray::Of<float>({1}, {5})));
  auto context = train::ForwardAndContext(model_, t, host_.context);
  ASSERT_THAT(context, IsOk());
  EXPECT_EQ(context->Read("t")->AsDouble(0), 10);
}

TEST_F(RunTest, SyncRunLoopsOverIndicesWithARange) {
  names_.statics.emplace("i", model_.graph.AddStatic("i", 3));
  Tensor t = Parse("t", "!@i *. 2");
  Routine routine = *ToRoutine(host_.context, *train::Forward(model_, t), {});
  std::vector<double> seen;
  EXPECT_THAT(
      train::SyncRun(routine,
                     [&] {
                       seen.push_back(host_.context.Read("t")->AsDouble(0));
                       return absl::OkStatus();
                     }),
      IsOk());
  EXPECT_THAT(seen, ElementsAre(0, 2, 4));
  CHECK_OK(routine.Set("i", 1));
  EXPECT_THAT(train::SyncRun(routine), IsOk());
  EXPECT_EQ(host_.context.Read("t")->AsDouble(0), 2);
}

TEST_F(RunTest, WhatIsOnTheDevice) {
  names_.tensors.emplace(
      "x", Data(model_.graph, "x", NdArray::Of<float>({2}, {1, 2}),
                {.rows = {Dims{}, Dims{2}, Dims{}}}));
  Tensor h = Parse("h", "{w = 3; o=[2]} *. x");
  Tensor t = Parse("t", "h ++ \"...|... => 0\"");
  ASSERT_THAT(train::EveryNonLiteralMaterialized(model_, t), IsOk());
  auto updaten = train::MakeUpdaten(model_, t, {.setup_for_parallel = true});
  ASSERT_THAT(updaten, IsOk());
  EXPECT_EQ(updaten->label, "t");
  ASSERT_EQ(updaten->params.size(), 1u);
  EXPECT_TRUE(train::IsParam(model_, updaten->params[0]));
  EXPECT_FALSE(train::IsParam(model_, h));
  EXPECT_THAT(train::NeedsPriorContext(updaten->fwd_bprop), ElementsAre("w"));
  CHECK_OK(ToRoutine(host_.context, *train::InitParams(model_, t), {})->Run());
  Routine step = *ToRoutine(host_.context, updaten->fwd_bprop, {});
  ASSERT_THAT(train::SyncRun(step), IsOk());
  auto values = train::AllDeviceToHost(model_, t, host_.context);
  ASSERT_THAT(values, IsOk());
  std::vector<std::string> names;
  for (const auto& [name, value] : *values) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("h", "t", "w", "w.grad", "x"));
  EXPECT_EQ(values->at("h").AsDouble(1), 6);
  EXPECT_EQ(values->at("w.grad").AsDouble(1), 2);
  // The data as it was given.
  CHECK_OK(host_.context.Write("x", NdArray::Of<float>({2}, {0, 0})));
  ASSERT_THAT(train::AllHostToDevice(model_, t, host_.context), IsOk());
  EXPECT_EQ(host_.context.Read("x")->AsDouble(1), 2);
}

TEST_F(RunTest, TreesOfTensors) {
  names_.tensors.emplace(
      "x", Data(model_.graph, "x", NdArray::Of<float>({2}, {1, 2}),
                {.rows = {Dims{}, Dims{2}, Dims{}}}));
  Parse("h", "{w = 3; o=[2]} *. x");
  Tensor t = Parse("t", "relu(h) + h");
  EXPECT_EQ(TensorTree(t),
            "t = relu(h) + h\n"
            "  relu(h)\n"
            "    h = w *. x\n"
            "      w: parameter\n"
            "      x: data\n"
            "  h = w *. x: above\n");
  EXPECT_EQ(TensorTree(t, 1),
            "t = relu(h) + h\n  relu(h): ...\n  h = w *. x: ...\n");
  EXPECT_EQ(TensorTree(Parse("u", "relu(relu(h)) + h"), 2),
            "u = relu(relu(h)) + h\n"
            "  relu(relu(h))\n"
            "    relu(h): ...\n"
            "  h = w *. x\n"
            "    w: parameter\n"
            "    x: data\n");
}

TEST_F(RunTest, PrintedValues) {
  EXPECT_EQ(PrintValues(NdArray::Of<float>({2, 2}, {1, -0.5f, 3, 4e9f})),
            "  1 -0.5\n  3 4e+09\n");
  EXPECT_EQ(PrintValues(NdArray::Of<float>({}, {7})), "  7\n");
}

TEST_F(RunTest, TreesWithValuesAndGradients) {
  for (const std::string& tier : AvailableTiers()) {
    train::Model model;
    Names names;
    names.tensors.emplace(
        "x", Data(model.graph, "x", NdArray::Of<float>({2, 2}, {1, 2, 3, 4}),
                  {.rows = {Dims{2}, Dims{2}, Dims{}}}));
    Tensor h =
        Named(MustParseTensor(model.graph, "{w = 3; o=[2]} *. x", names), "h");
    names.tensors.emplace("h", h);
    Tensor t = Named(
        MustParseTensor(model.graph, "relu(h) ++ \"...|... => 0\"", names),
        "t");
    const TestDevice host(*FindTier(tier));
    CHECK_OK(train::RunInit(model, t, {}, host.context));
    auto code = train::GradUpdate(model, t, {.keep_gradients = true});
    ASSERT_THAT(code, IsOk());
    Routine step = *ToRoutine(host.context, *code, {});
    ASSERT_THAT(train::SyncRun(step), IsOk());
    EXPECT_EQ(TensorTree(t, host.context, {.gradients = true}),
              "t = relu(h) ++ \"...|... => 0\"\n"
              "  value: 30\n"
              "  gradient: -\n"
              "  relu(h)\n"
              "    value: -\n"
              "    gradient: -\n"
              "    h = w *. x\n"
              "      value: -\n"
              "      gradient: -\n"
              "      w: parameter\n"
              "        value: 3 3\n"
              "        gradient: 4 6\n"
              "      x: data\n"
              "        value: 1 2\n"
              "               3 4\n")
        << tier;
    EXPECT_EQ(TensorTree(t, host.context, {.max_depth = 0}),
              "t = relu(h) ++ \"...|... => 0\": ...\n"
              "  value: 30\n");
  }
}

TEST_F(RunTest, ScaledGradients) {
  Tensor t = Parse("t", "{w = 3; o=[1]} *. w");
  auto code =
      train::GradUpdate(model_, t, {.keep_gradients = true, .scale = 8});
  ASSERT_THAT(code, IsOk());
  CHECK_OK(ToRoutine(host_.context, *train::InitParams(model_, t), {})->Run());
  CHECK_OK(ToRoutine(host_.context, *code, {})->Run());
  EXPECT_EQ(host_.context.Read("w.grad")->AsDouble(0), 48);
  EXPECT_THAT(
      std::string(
          train::GradUpdate(model_, t, {.scale = 0}).status().message()),
      HasSubstr("the scale of the loss is 0"));
  Tensor narrow = Parse("narrow", "{v:f16 = 3; o=[1]} *. v");
  EXPECT_THAT(
      std::string(
          train::GradUpdate(model_, narrow, {.scale = 1e5}).status().message()),
      HasSubstr("the scale of the loss as f16 is inf"));
}

TEST(DevicesTest, SuggestedOnes) {
  EXPECT_THAT(NumDevices("interp"), IsOkAndHolds(1));
  EXPECT_THAT(GetDevice("interp", 0), IsOk());
  EXPECT_THAT(std::string(GetDevice("interp", 1).status().message()),
              HasSubstr("tier interp has no device 1; it has 1 device"));
  auto two = GetAllSuggestedDevices("interp", 2);
  ASSERT_THAT(two, IsOk());
  EXPECT_GE(two->size(), 1u);
  EXPECT_LE(two->size(), 2u);
  EXPECT_TRUE((*two)[0].is_inline);
  EXPECT_FALSE(GetAllSuggestedDevices("interp", 0).ok());
  EXPECT_NE(*FreshBackend("auto"), *FreshBackend("x86"));
}

// y = 2 x for 12 examples; w begins at 0.5.
struct Line {
  absl::StatusOr<std::unique_ptr<train::TrainedExample>> Train(
      VirtualDevices& devices, train::ExampleTrainOptions options) {
    if (options.data_len == 1) options.data_len = 12;
    options.init_lr = 0.01;
    auto examples = [](const char* name, float factor) {
      return [=](Graph& graph, const Dims& batch) {
        std::vector<float> values;
        for (int k = 0; k < batch[0] * batch[1]; ++k) {
          values.push_back(factor * static_cast<float>(k % 4 + 1));
        }
        return Data(graph, name,
                    NdArray::Of<float>({batch[0], batch[1], 1}, values),
                    {.rows = {batch, Dims{1}, Dims{}}});
      };
    };
    return train::ExampleTrainLoop(
        devices, options, examples("x", 1), examples("y", 2),
        [](Graph& graph) {
          ParsedTensor w = *ParseTensor(graph, "{w = 0.5; o=[1]}", {});
          return [w = w.tensor](Tensor input) { return Mul(w, input); };
        },
        [](Tensor output, Tensor expectation) {
          return Square(output - expectation);
        });
  }
};

TEST(ExampleTrainLoopTest, LearnsALine) {
  std::vector<train::BatchReport> batches;
  std::vector<train::EpochReport> epochs;
  VirtualDevices one(TestDevice::Interpreter(), 1);
  auto trained = Line().Train(
      one, {.batch_size = 4,
            .epochs = 20,
            .per_batch_callback = [&](const auto& b) { batches.push_back(b); },
            .per_epoch_callback = [&](const auto& e) { epochs.push_back(e); }});
  ASSERT_THAT(trained, IsOk());
  EXPECT_EQ((*trained)->batch_losses.size(), 60u);
  ASSERT_EQ(batches.size(), 60u);
  ASSERT_EQ(epochs.size(), 20u);
  // (1.5 * 1)^2 + ... + (1.5 * 4)^2 is 67.5.
  EXPECT_EQ(batches[0].batch_loss, 67.5 / 4);
  EXPECT_EQ(batches[4].at_batch, 1);
  EXPECT_EQ(batches[4].at_step, 5);
  EXPECT_EQ(epochs[19].at_epoch, 19);
  EXPECT_EQ(epochs[19].at_step, 60);
  EXPECT_NEAR(epochs[19].learning_rate, 0.01 * 61 / 60, 1e-6);
  EXPECT_LT((*trained)->epoch_losses.back(), 1e-3);
  auto answer = (*trained)->Infer(NdArray::Of<float>({1}, {7}));
  ASSERT_THAT(answer, IsOk());
  EXPECT_NEAR(answer->AsDouble(0), 14, 1e-2);
}

// Two devices see two minibatches of 2 in the place of one of 4: all products
// are exact, so that the sums are, too.
TEST(ExampleTrainLoopTest, DevicesAddUpToOne) {
  auto losses = [](const Backend* backend, int count, bool copies) {
    VirtualDevices devices(backend, count);
    auto trained = Line().Train(devices, {.batch_size = 4,
                                          .data_len = 12,
                                          .epochs = 3,
                                          .copy_to_merge = copies});
    CHECK_OK(trained);
    return std::move((*trained)->batch_losses);
  };
  const std::vector<double> one = losses(TestDevice::Interpreter(), 1, false);
  const std::vector<double> two = losses(TestDevice::Interpreter(), 2, false);
  EXPECT_EQ(one[0], two[0]);
  EXPECT_EQ(one.size(), two.size());
  EXPECT_EQ(losses(TestDevice::Interpreter(), 2, true), two);
  EXPECT_EQ(losses(*FindTier("auto"), 2, false), two);
  EXPECT_EQ(losses(*FindTier("auto"), 4, true),
            losses(TestDevice::Interpreter(), 4, false));
}

// Lion goes down by the rate, here 1/8, which is exact on any device.
TEST(ExampleTrainLoopTest, TakesAnyRule) {
  for (const std::string& tier : AvailableTiers()) {
    for (int count : {1, 2}) {
      VirtualDevices devices(*FindTier(tier), count);
      auto trained = Line().Train(
          devices, {.batch_size = 4,
                    .lr_schedule = [](Graph& graph, int32_t,
                                      int32_t) { return Number(graph, 0.125); },
                    .rule = train::Lion()});
      ASSERT_THAT(trained, IsOk());
      // (2 - w)^2 * (1 + 4 + 9 + 16) / 4 for w of 0.5, 0.625, 0.75.
      EXPECT_THAT((*trained)->batch_losses,
                  ElementsAre(16.875, 14.1796875, 11.71875));
      EXPECT_EQ(devices[0].context.Read("w")->AsDouble(0), 0.875);
    }
  }
}

// The index is that of the last minibatch, in a round that is not full, too.
TEST(ExampleTrainLoopTest, SchedulesMayReadTheBatch) {
  auto rates = [](int64_t data_len) {
    VirtualDevices devices(TestDevice::Interpreter(), 2);
    std::vector<double> seen;
    auto trained = Line().Train(
        devices, {.batch_size = 4,
                  .lr_schedule =
                      [](Graph& graph, int32_t batch_n, int32_t) {
                        return 0.125 * (EmbedSymbol(graph, batch_n) + 1);
                      },
                  .data_len = data_len,
                  .epochs = 1,
                  .per_batch_callback =
                      [&](const auto& b) { seen.push_back(b.learning_rate); }});
    CHECK_OK(trained);
    return seen;
  };
  EXPECT_THAT(rates(12), ElementsAre(0.25, 0.5, 0.75));
  EXPECT_THAT(rates(10), ElementsAre(0.25, 0.5, 0.625));
}

TEST(ExampleTrainLoopTest, WhatIsNoTraining) {
  VirtualDevices devices(TestDevice::Interpreter(), 2);
  EXPECT_THAT(
      std::string(Line().Train(devices, {.batch_size = 3}).status().message()),
      HasSubstr("the batch size is 3, which 2 devices do not divide"));
  EXPECT_THAT(
      std::string(Line().Train(devices, {.batch_size = 40}).status().message()),
      HasSubstr("are no training in minibatches of 20"));
}

TEST_F(RunTest, AllDebugs) {
  auto run = [&](const std::string& name) {
    Parse(name + "_x",
          absl::StrCat("{", name, "_p = 3} *. {", name, "_q = 4}"));
    Parse(name, name + "_x + 1");
    TestDevice device;
    auto context = train::ForwardAndContext(model_, names_.tensors.at(name),
                                            device.context);
    CHECK_OK(context.status());
    EXPECT_EQ(context->Read(name)->AsDouble(0), 13);
    return context->Read(name + "_x").status();
  };
  EXPECT_THAT(run("plain"), StatusIs(absl::StatusCode::kNotFound));
  const std::string folder = absl::StrCat(testing::TempDir(), "/stages");
  train::EnableAllDebugs({.directory = folder, .log_level = 2});
  testing::internal::CaptureStderr();
  EXPECT_THAT(run("hosted"), IsOk());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(HasSubstr("compiles forward: "),
                             HasSubstr("hosted =: hosted_x + ")));
  for (const char* end : {".cd", ".ll", ".memory"}) {
    EXPECT_THAT(ReadFile(absl::StrCat(folder, "/forward", end)), IsOk());
  }
  train::DisableAllDebugs();
  EXPECT_THAT(run("again"), StatusIs(absl::StatusCode::kNotFound));
  train::EnableAllDebugs({.directory = "/proc/none", .log_level = 0});
  Parse("refused", "{p = 3} + 1");
  EXPECT_FALSE(train::ForwardAndForget(model_, names_.tensors.at("refused"),
                                       TestDevice::Interpreter())
                   .ok());
  train::DisableAllDebugs();
}

}  // namespace
}  // namespace ocannl
