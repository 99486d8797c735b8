// SPDX-License-Identifier: Apache-2.0
//
// Blocks and functions of the user as operations of a step: the bits of the
// declared network, parameters by name, and arguments that are compared. 2 s.
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/conv.h"
#include "ocannl/train/blocks/linear.h"
#include "ocannl/train/blocks/loss.h"
#include "ocannl/train/blocks/norm.h"
#include "ocannl/train/blocks/transformer.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::HasSubstr;

constexpr uint32_t kSeed = 7;
constexpr double kRate = 0.25;

std::vector<TrainerInput> Batch(Dims x, Dims y) {
  std::vector<TrainerInput> inputs;
  for (const Dims& dims : {x, y}) {
    NdArray array(DType::kF32, dims);
    for (int64_t i = 0; i < array.size(); ++i) {
      array.values<float>()[i] =
          static_cast<float>(std::fmod(0.37 * static_cast<double>(i), 2)) - 1;
    }
    inputs.emplace_back(std::move(array));
  }
  return inputs;
}

Tensor Dropped(Tensor x, const Training* training) {
  return Dropout(x, 0.25, training);
}

Tensor Net(const ParamScope& scope, Tensor x, Training* training) {
  Tensor h = Linear(scope / "in", {.outputs = Dims{6}})(x);
  h = BatchNorm(scope / "norm")(h, training);
  h = Dropped(Relu(h), training);
  return Linear(scope / "out", {.outputs = Dims{1}})(h);
}

Ref OneCall(Ops& ops, absl::Span<const Ref> args) {
  const Ref y = ops.Call<&Net>("net", ops.AsBatch(args[0]));
  return ops.MseLoss(y, args[1]);
}

Ref BlockByBlock(Ops& ops, absl::Span<const Ref> args) {
  Ref h = ops.Block<Linear>(
      "net_in", LinearOptions{.outputs = Dims{6}})(ops.AsBatch(args[0]));
  h = ops.Block<BatchNorm>("net_norm")(h);
  h = ops.Call<&Dropped>(ops.Relu(h));
  h = ops.Block<Linear>("net_out", LinearOptions{.outputs = Dims{1}})(h);
  return ops.MseLoss(h, args[1]);
}

ParamList Empty() { return *ParamList::Allocate({}); }

std::unique_ptr<ScalarTrainer> Make(const Backend* backend, Loss loss,
                                    TrainerMode mode = TrainerMode::kEager) {
  return std::make_unique<ScalarTrainer>(
      backend, Empty(), std::move(loss),
      TrainerOptions{.mode = mode, .seed = kSeed});
}

std::vector<NdArray> Trained(const Backend* backend, const Loss& loss,
                             TrainerMode mode) {
  auto trainer = Make(backend, loss, mode);
  for (int k = 0; k < 3; ++k) {
    CHECK_OK(trainer->Step(kRate, Batch({8, 3}, {8, 1})));
  }
  EXPECT_EQ(trainer->session().recordings(), 1);
  return *trainer->GetParams();
}

// The parameters of `names` after three steps of the network as a graph.
std::vector<NdArray> Declared(const ParamList& names) {
  Model model;
  Graph& graph = model.graph;
  graph.set_seed(kSeed);
  Training training{.step = graph.AddStatic("step", std::nullopt)};
  const std::vector<TrainerInput> batch = Batch({8, 3}, {8, 1});
  auto data = [&](const char* name, size_t k) {
    ShapeSpec spec;
    spec[RowKind::kOutput] = Dims{k == 0 ? 3 : 1};
    return Data(graph, name,
                *std::get<std::shared_ptr<const NdArray>>(batch[k].value()),
                spec);
  };
  const Tensor x = data("x", 0), y = data("y", 1);
  const Tensor loss = MeanSquaredError(Net({&graph, "net"}, x, &training), y);
  const Assignments gradient = *GradUpdate(model, loss);
  const UpdateCode states = *UpdateStates(model, training.updates);
  const UpdateCode update =
      *RuleUpdate(model, loss, Number(graph, kRate), *Sgd());
  TestDevice host;
  Routine init = *ToRoutine(
      host.context,
      Sequence("", {*InitParams(model, loss), states.init, update.init}), {});
  CHECK_OK(init.Run());
  Routine step =
      *ToRoutine(init.context(),
                 Sequence("", {gradient, states.update, update.update}), {});
  for (int k = 0; k < 3; ++k) {
    CHECK_OK(step.Static("step")->Set(k));
    CHECK_OK(step.Run());
  }
  std::vector<NdArray> values;
  for (size_t k = 0; k < names.size(); ++k) {
    values.push_back(*step.context().Read(names.name(k)));
  }
  return values;
}

TEST(BlocksTest, HaveTheBitsOfTheDeclaredNetwork) {
  auto first = Make(TestDevice::Interpreter(), OneCall);
  ASSERT_THAT(first->Step(kRate, Batch({8, 3}, {8, 1})), IsOk());
  const std::vector<NdArray> expected = Declared(first->params());
  ASSERT_EQ(expected.size(), 8);
  for (const Backend* backend :
       {TestDevice::Interpreter(), *FindTier("auto")}) {
    for (const Loss& loss : {Loss(OneCall), Loss(BlockByBlock)}) {
      for (TrainerMode mode : {TrainerMode::kEager, TrainerMode::kCompiled}) {
        const std::vector<NdArray> values = Trained(backend, loss, mode);
        ASSERT_EQ(values.size(), expected.size());
        for (size_t k = 0; k < values.size(); ++k) {
          EXPECT_TRUE(SameBits(values[k], expected[k]))
              << first->params().name(k);
        }
      }
    }
  }
}

TEST(BlocksTest, GradientsAndInference) {
  for (TrainerMode mode : {TrainerMode::kEager, TrainerMode::kCompiled}) {
    auto trainer = Make(TestDevice::Interpreter(), BlockByBlock, mode);
    const std::vector<TrainerInput> batch = Batch({8, 3}, {8, 1});
    auto both = trainer->ValueAndGrad(batch);
    ASSERT_THAT(both, IsOk());
    ASSERT_EQ(both->gradients.size(), 8);
    const ParamList& params = trainer->params();
    for (size_t k = 0; k < params.size(); ++k) {
      EXPECT_EQ(both->gradients[k].dims(), params.like(k).dims());
    }
    ASSERT_THAT(trainer->Step(kRate, batch), IsOk());
    const double trained = *trainer->Forward(batch);
    trainer->session().set_trains(false);
    const double inferred = *trainer->Forward(batch);
    EXPECT_NE(inferred, trained);
    // Running averages, and not those of the batch: of its part alone.
    const std::vector<TrainerInput> part = Batch({2, 3}, {2, 1});
    ASSERT_THAT(trainer->Forward(part), IsOk());
    trainer->session().set_trains(true);
    EXPECT_THAT(trainer->Forward(batch), IsOkAndHolds(trained));
    trainer->session().set_trains(false);
    EXPECT_THAT(trainer->Forward(batch), IsOkAndHolds(inferred));
  }
}

TEST(BlocksTest, WithoutGradientsTheyInfer) {
  const std::vector<TrainerInput> batch = Batch({8, 3}, {8, 1});
  auto infers = Make(TestDevice::Interpreter(), OneCall);
  infers->session().set_trains(false);
  ScalarTrainer untracked(TestDevice::Interpreter(), Empty(), OneCall,
                          {.seed = kSeed, .track_gradients = false});
  EXPECT_THAT(untracked.Forward(batch), IsOkAndHolds(*infers->Forward(batch)));
}

TEST(BlocksTest, ParametersAreThoseOfTheirNames) {
  const std::vector<TrainerInput> batch = Batch({8, 3}, {8, 1});
  auto whole = Make(TestDevice::Interpreter(), BlockByBlock);
  ASSERT_THAT(whole->set_rule(Adam({})), IsOk());
  for (int k = 0; k < 2; ++k) ASSERT_THAT(whole->Step(0.1, batch), IsOk());
  const std::string path = absl::StrCat(testing::TempDir(), "/blocks.npz");
  ASSERT_THAT(whole->Save(path), IsOk());
  // A new session finds them in the file, in whatever order they are made.
  auto again = Make(TestDevice::Interpreter(), OneCall);
  ASSERT_THAT(again->set_rule(Adam({})), IsOk());
  ASSERT_THAT(again->Restore(path), IsOk());
  ASSERT_THAT(whole->Step(0.1, batch), IsOk());
  ASSERT_THAT(again->Step(0.1, batch), IsOk());
  for (size_t k = 0; k < whole->params().size(); ++k) {
    const auto other = again->params().Find(whole->params().name(k));
    ASSERT_TRUE(other.has_value());
    EXPECT_TRUE(SameBits(*whole->params().Get(k), *again->params().Get(*other)))
        << whole->params().name(k);
  }
  // One that is there is taken.
  ParamList given = Empty();
  ASSERT_THAT(given.Add("in_b", NdArray::Of<float>({2}, {3, 4})), IsOk());
  Session session(TestDevice::Interpreter(), {});
  session.Begin();
  ASSERT_THAT(session.Use(given, {NdArray(DType::kF32, {1, 5})}), IsOk());
  const Ref y = session.Block<Linear>(
      "in", LinearOptions{.outputs = Dims{2}})(session.args()[0]);
  auto value = session.Value(session.Sum(y));
  ASSERT_THAT(value, IsOk());
  EXPECT_EQ(value->AsDouble(0), 7);
}

TEST(BlocksTest, NamesThatAreAmbiguousAreErrors) {
  const LinearOptions two = {.outputs = Dims{2}};
  ParamList params =
      *ParamList::Allocate({NdArray(DType::kF32, {2})}, {.names = {"w_b"}});
  Session session(TestDevice::Interpreter(), {});
  auto begin = [&] {
    session.Begin();
    CHECK_OK(session.Use(params, {NdArray(DType::kF32, {3})}));
    return session.args()[1];
  };
  Ref x = begin();
  session.Block<Linear>("v", two)(session.Block<Linear>("v", two)(x));
  EXPECT_THAT(session.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("it makes a parameter `v_w`, and the step has "
                                 "another one of that name")));
  EXPECT_THAT(session.status().message(), HasSubstr("Linear (blocks_test.cc:"));
  x = begin();
  session.Block<Linear>("w", two)(x);
  EXPECT_THAT(session.status().message(), HasSubstr("a parameter `w_b`"));
  // Each time, as it is not recorded.
  for (int k = 0; k < 2; ++k) {
    x = begin();
    session.Block<Linear>("v", LinearOptions{.outputs = Dims{4}})(x);
    EXPECT_THAT(session.status().message(),
                HasSubstr("the parameter `v_w` as f32 {4,3}, and it is f32 "
                          "{2,3}"));
  }
  x = begin();
  EXPECT_THAT(session.Value(session.Block<Linear>("v", two)(x)), IsOk());
  Session without(TestDevice::Interpreter(), {});
  without.Begin();
  without.Block<Linear>("w", two)(without.Const(1));
  EXPECT_THAT(without.status().message(), HasSubstr("Use one first"));
}

TEST(BlocksTest, ConvolutionsNormsAndTransformersLearn) {
  const auto images = [](Ops& ops, absl::Span<const Ref> args) {
    Ref h = ops.Block<Conv2d>(
        "conv", Conv2dOptions{.channels = 4})(ops.AsBatch(args[0]));
    h = ops.Relu(ops.Block<BatchNorm>("norm")(h));
    h = ops.Call<&MaxPool2d>(h, kHalve);
    h = ops.Block<Mlp>("mlp", MlpOptions{.sizes = {8, 1}})(h);
    return ops.MseLoss(h, args[1]);
  };
  const auto sequences = [](Ops& ops, absl::Span<const Ref> args) {
    const TransformerOptions options = {.size = 4, .heads = 2, .hidden = 8};
    const Ref x = ops.AsBatch(args[0]);
    Ref h = ops.Block<Encoder>("encoder", 2, options)(x, std::nullopt);
    h = ops.Block<LayerNorm>("norm")(ops.Add(h, x));
    return ops.MseLoss(h, args[1]);
  };
  struct Task {
    Loss loss;
    std::vector<TrainerInput> batch;
  };
  for (const Task& task : {Task{images, Batch({4, 6, 6, 2}, {4, 1})},
                           Task{sequences, Batch({4, 3, 4}, {4, 3, 4})}}) {
    auto trainer = Make(*FindTier("auto"), task.loss);
    ASSERT_THAT(trainer->Step(0.05, task.batch), IsOk());
    const double first = *trainer->session().UpdatedLoss();
    for (int k = 0; k < 20; ++k) {
      ASSERT_THAT(trainer->Step(0.05, task.batch), IsOk());
    }
    EXPECT_LT(*trainer->session().UpdatedLoss(), 0.8 * first);
    EXPECT_EQ(trainer->session().recordings(), 1);
  }
}

struct Options {
  double factor = 1;
  std::optional<int64_t> power = {};
  std::vector<int> list = {};
};

absl::StatusOr<Tensor> Scaled(Tensor x, const Options& options,
                              const std::string& text) {
  if (text == "bad") return absl::InvalidArgumentError("the text is bad");
  return Mul(x, options.factor * static_cast<double>(options.list.size()));
}

TEST(BlocksTest, ArgumentsAreComparedToTheBit) {
  ParamList params = *ParamList::Allocate({NdArray::Of<float>({1}, {2})});
  Session session(TestDevice::Interpreter(), {});
  auto tapes = [&](const Options& options, const char* text) {
    session.Begin();
    CHECK_OK(session.Use(params, {}));
    session.Call<&Scaled>(session.args()[0], options, text);
    return session.recordings();
  };
  EXPECT_EQ(tapes({.factor = 0, .list = {1}}, "a"), 1);
  EXPECT_THAT(session.TapeText(), HasSubstr("Scaled(%0; 0,1,\"a\")"));
  EXPECT_EQ(tapes({.factor = 0, .list = {1}}, "a"), 1);
  EXPECT_EQ(tapes({.factor = -0., .list = {1}}, "a"), 2);
  EXPECT_EQ(tapes({.factor = 0, .power = 1, .list = {1}}, "a"), 3);
  EXPECT_EQ(tapes({.factor = 0, .list = {1, 2}}, "a"), 4);
  EXPECT_EQ(tapes({.factor = 0, .list = {1}}, "b"), 5);
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(tapes({.factor = kNan}, "a"), 6);
  EXPECT_EQ(tapes({.factor = kNan}, "a"), 6);
  tapes({}, "bad");
  EXPECT_THAT(session.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::MatchesRegex("Scaled \\(blocks_test.cc:.*\\) "
                                             "of .1.: the text is bad")));
}

}  // namespace
}  // namespace ocannl::train
