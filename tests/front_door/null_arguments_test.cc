// SPDX-License-Identifier: Apache-2.0
//
// Null pointers and functions, given to what users call: errors with a message,
// or where a constructor can return none, an end with it.
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/context.h"
#include "ocannl/core/runtime/device.h"
#include "ocannl/core/runtime/stream.h"
#include "ocannl/core/runtime/virtual_devices.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "ocannl/train/graph/model.h"
#include "ocannl/train/optim/rules.h"
#include "ocannl/train/parallel/data_parallel.h"
#include "ocannl/train/parallel/example_train_loop.h"
#include "ocannl/train/run/predict.h"
#include "ocannl/train/run/run.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using testing::HasSubstr;
using train::Model;

const Backend* Interp() { return TestDevice::Interpreter(); }

auto Refused(const char* part) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(part));
}

TEST(NullArgumentsTest, OfASession) {
  train::ParamList params =
      *train::ParamList::Allocate({NdArray::Of<float>({1}, {2})});
  train::Session session(Interp(), {});
  session.Begin();
  ASSERT_THAT(session.Use(params, {}), IsOk());
  const train::Ref loss = session.Sum(session.args()[0]);
  EXPECT_THAT(session.Update(loss, nullptr, 0.1),
              Refused("the rule of Update"));
  EXPECT_THAT(session.Update(loss, nullptr, std::nullopt),
              Refused("the rule of Update"));
  // The step goes on, and so does the session after an update.
  const auto sgd = std::make_shared<const train::UpdateRule>(*train::Sgd());
  ASSERT_THAT(session.Update(loss, sgd, 0.5), IsOk());
  EXPECT_THAT(params.Get(0)->values<float>(), testing::ElementsAre(1.5f));
  session.Begin();
  ASSERT_THAT(session.Use(params, {}), IsOk());
  EXPECT_THAT(session.Update(session.Sum(session.args()[0]), nullptr, 0.5),
              Refused("the rule of Update"));
  session.set_schedule(nullptr);
  session.Begin();
  EXPECT_FALSE(session.Use(params, {std::shared_ptr<const NdArray>()}).ok());
  session.Begin();
  ASSERT_THAT(session.Use(params, {}), IsOk());
  (void)session.Const(std::shared_ptr<const NdArray>());
  EXPECT_THAT(session.status(), Refused("there are no cells"));
}

TEST(NullArgumentsTest, OfATrainer) {
  train::ParamList params =
      *train::ParamList::Allocate({NdArray::Of<float>({1}, {2})});
  for (train::TrainerMode mode :
       {train::TrainerMode::kEager, train::TrainerMode::kCompiled}) {
    train::ScalarTrainer trainer(Interp(), params, nullptr, {.mode = mode});
    EXPECT_THAT(trainer.Forward({}),
                Refused("the loss of the trainer is null"));
    EXPECT_THAT(trainer.Backward({}), Refused("the loss of the trainer"));
    EXPECT_THAT(trainer.Step(0.1, {}), Refused("the loss of the trainer"));
  }
}

TEST(NullArgumentsTest, OfParallelTraining) {
  const std::vector<train::BatchInput> inputs = {
      {"x", NdArray::Of<float>({2}, {1, 2})}};
  const train::LossOf loss = [](Model&, absl::Span<const Tensor> of) {
    return of[0];
  };
  const train::UpdateOf update = [](Model&, Tensor, const auto&) {
    return train::UpdateCode();
  };
  auto make = [&](const Backend* backend, const train::LossOf& loss_of,
                  const train::UpdateOf& update_of) {
    return train::DataParallel::Make(backend, {}, inputs, loss_of, update_of)
        .status();
  };
  EXPECT_THAT(make(nullptr, loss, update), Refused("the backend is null"));
  EXPECT_THAT(make(Interp(), nullptr, update),
              Refused("the function of the loss is null"));
  EXPECT_THAT(make(Interp(), loss, nullptr),
              Refused("the function of the update is null"));
  const std::function<absl::StatusOr<train::UpdateCode>(Model&, Tensor)> none;
  EXPECT_THAT(make(Interp(), loss, none),
              Refused("the function of the update is null"));
  VirtualDevices devices(Interp(), 1);
  EXPECT_THAT(
      train::ExampleTrainLoop(devices, {}, nullptr, nullptr, nullptr, nullptr)
          .status(),
      Refused("the function of the inputs is null"));
}

TEST(NullArgumentsTest, OfRuns) {
  Model model;
  Tensor x = Data(model.graph, "x", NdArray::Of<float>({2}, {1, 2}),
                  {.rows = {Dims{}, Dims{2}, Dims{}}});
  EXPECT_THAT(train::ForwardAndForget(model, x, nullptr).status(),
              Refused("the backend is null"));
  EXPECT_THAT(train::Forward(model, Tensor{}).status(),
              Refused("the tensor is none"));
  EXPECT_THAT(train::GradUpdate(model, Tensor{}).status(),
              Refused("the tensor is none"));
  const Tensor param = Param(model.graph, "w", {}, std::nullopt,
                             [](Tensor) { return Tensor{}; });
  EXPECT_THAT(train::Forward(model, param).status(),
              Refused("its initializer gives no tensor"));
  Device device("host", Interp());
  Stream stream(&device);
  EXPECT_THAT(
      train::Predictor::Make(model, x, {Tensor{}}, Context(&stream)).status(),
      Refused("the tensor is none"));
  LoopProgram program;
  program.name = "p";
  EXPECT_THAT(Context(&stream).Link(std::move(program), nullptr).status(),
              Refused("the code of p is null"));
}

TEST(NullArgumentsDeathTest, OfConstructors) {
  EXPECT_DEATH(Device("host", nullptr), "the backend of device `host` is null");
  EXPECT_DEATH(Context(nullptr), "the stream of a Context is null");
  EXPECT_DEATH(Stream(nullptr), "the device of a Stream is null");
  EXPECT_DEATH(VirtualDevices(nullptr, 1), "`virtual:0` is null");
  EXPECT_DEATH(train::Session(nullptr, {}), "`session` is null");
  EXPECT_DEATH(Checked(nullptr), "the tier is null");
  EXPECT_DEATH(Traced(nullptr), "the tier is null");
}

}  // namespace
}  // namespace ocannl
