// SPDX-License-Identifier: Apache-2.0
//
// ScalarTrainer in both modes: what a step does, what its errors leave, and
// where the modes of other trainers differ and ours do not.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/train/compat/torch_lean_names.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "ocannl/train/optim/schedule.h"
#include "ocannl/train/optim/transforms.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NdArray Vector(std::vector<float> values) {
  const auto size = static_cast<int64_t>(values.size());
  return NdArray::Of<float>({size}, values);
}

NdArray Number(float value) { return NdArray::Of<float>({}, {value}); }

std::vector<float> Cells(const NdArray& array) {
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

ParamList Params(std::vector<NdArray> values,
                 const ParamOptions& options = {}) {
  auto params = ParamList::Allocate(std::move(values), options);
  CHECK_OK(params.status());
  return std::move(*params);
}

// The sum of (w * x - y)^2; w is the first parameter.
Ref Squares(Ops& ops, absl::Span<const Ref> args) {
  const Ref y = args[args.size() - 1], x = args[args.size() - 2];
  const Ref d = ops.Sub(ops.Mul(args[0], x), y);
  return ops.Sum(ops.Mul(d, d));
}

class TrainerTest : public testing::TestWithParam<TrainerMode> {
 protected:
  std::unique_ptr<ScalarTrainer> Make(ParamList params, Loss loss,
                                      TrainerOptions options = {}) {
    options.mode = GetParam();
    return std::make_unique<ScalarTrainer>(
        TestDevice::Interpreter(), std::move(params), std::move(loss), options);
  }

  bool is_eager() const { return GetParam() == TrainerMode::kEager; }
};

std::string ModeName(const testing::TestParamInfo<TrainerMode>& info) {
  return info.param == TrainerMode::kEager ? "Eager" : "Compiled";
}
INSTANTIATE_TEST_SUITE_P(Modes, TrainerTest,
                         testing::Values(TrainerMode::kEager,
                                         TrainerMode::kCompiled),
                         ModeName);

TEST_P(TrainerTest, ForwardBackwardStep) {
  auto trainer = Make(Params({Vector({1, 2})}), Squares);
  const std::vector<TrainerInput> inputs = {Vector({3, 4}), Vector({1, 1})};
  // d = 2, 7.
  EXPECT_THAT(trainer->Forward(inputs), IsOkAndHolds(53));
  auto grads = trainer->Backward(inputs);
  ASSERT_THAT(grads, IsOk());
  EXPECT_THAT(Cells((*grads)[0]), ElementsAre(12, 56));
  auto both = trainer->ValueAndGrad(inputs);
  ASSERT_THAT(both, IsOk());
  EXPECT_EQ(both->loss, 53);
  EXPECT_TRUE(SameBits(both->gradients[0], (*grads)[0]));
  ASSERT_THAT(trainer->Step(0.25, inputs), IsOk());
  EXPECT_THAT(Cells((*trainer->GetParams())[0]), ElementsAre(-2, -12));
  EXPECT_THAT(trainer->session().UpdatedLoss(), IsOkAndHolds(53));
  EXPECT_EQ(trainer->session().step(), 1);
}

TEST_P(TrainerTest, SetParamsIsSeenAtOnceAndAtomic) {
  auto trainer = Make(Params({Vector({1, 2}), Number(0)}),
                      [](Ops& ops, absl::Span<const Ref> args) {
                        return ops.Mul(ops.Sum(args[0]), args[1]);
                      });
  ASSERT_THAT(trainer->Step(0, {}), IsOk());
  ASSERT_THAT(trainer->SetParams({Vector({3, 4}), Number(2)}), IsOk());
  EXPECT_THAT(trainer->Forward({}), IsOkAndHolds(14));
  // The second is wrong: the first stays, too.
  EXPECT_THAT(trainer->SetParams({Vector({9, 9}), Vector({1})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("value 1 is f32 {1}, and the parameter `p1` "
                                 "f32 {}")));
  EXPECT_THAT(trainer->SetParams({Vector({9, 9})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("value list shorter than parameter list")));
  EXPECT_THAT(trainer->Forward({}), IsOkAndHolds(14));
}

TEST_P(TrainerTest, FrozenParametersHaveZeroGradientsAndStay) {
  auto trainer =
      Make(Params({Vector({1, 2}), Vector({5, 5})},
                  {.requires_grad = {true, false}, .names = {"w", "scale"}}),
           [](Ops& ops, absl::Span<const Ref> args) {
             return ops.Sum(ops.Mul(args[0], args[1]));
           });
  auto grads = trainer->Backward({});
  ASSERT_THAT(grads, IsOk());
  EXPECT_THAT(Cells((*grads)[0]), ElementsAre(5, 5));
  EXPECT_THAT(Cells((*grads)[1]), ElementsAre(0, 0));
  ASSERT_THAT(trainer->Step(1, {}), IsOk());
  EXPECT_THAT(Cells((*trainer->GetParams())[0]), ElementsAre(-4, -3));
  EXPECT_THAT(Cells((*trainer->GetParams())[1]), ElementsAre(5, 5));
  // They are set like others.
  ASSERT_THAT(trainer->SetParams({Vector({1, 1}), Vector({2, 3})}), IsOk());
  EXPECT_THAT(trainer->Forward({}), IsOkAndHolds(5));
}

TEST_P(TrainerTest, UnreachedParametersHaveZeroGradients) {
  auto trainer = Make(
      Params({Vector({1}), Vector({2})}),
      [](Ops& ops, absl::Span<const Ref> args) { return ops.Sum(args[1]); });
  auto grads = trainer->Backward({});
  ASSERT_THAT(grads, IsOk());
  EXPECT_THAT(Cells((*grads)[0]), ElementsAre(0));
  EXPECT_THAT(Cells((*grads)[1]), ElementsAre(1));
  ASSERT_THAT(trainer->Step(1, {}), IsOk());
  EXPECT_THAT(Cells((*trainer->GetParams())[0]), ElementsAre(1));
  EXPECT_THAT(Cells((*trainer->GetParams())[1]), ElementsAre(1));
}

TEST_P(TrainerTest, ALossMayBeAParameterAnInputOrNoLastOperation) {
  auto param = Make(Params({Number(3)}),
                    [](Ops&, absl::Span<const Ref> args) { return args[0]; });
  EXPECT_THAT(param->Forward({}), IsOkAndHolds(3));
  EXPECT_EQ((*param->Backward({}))[0].AsDouble(0), 1);
  ASSERT_THAT(param->Step(1, {}), IsOk());
  EXPECT_EQ((*param->GetParams())[0].AsDouble(0), 2);
  auto input = Make(Params({Number(3)}),
                    [](Ops&, absl::Span<const Ref> args) { return args[1]; });
  EXPECT_THAT(input->Forward({Number(7)}), IsOkAndHolds(7));
  EXPECT_EQ((*input->Backward({Number(7)}))[0].AsDouble(0), 0);
  EXPECT_THAT(input->Step(1, {Number(7)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("no parameter reaches it")));
  auto earlier =
      Make(Params({Number(3)}), [](Ops& ops, absl::Span<const Ref> args) {
        const Ref loss = ops.Mul(args[0], args[0]);
        ops.Exp(args[0]);
        return loss;
      });
  EXPECT_THAT(earlier->Forward({}), IsOkAndHolds(9));
  EXPECT_EQ((*earlier->Backward({}))[0].AsDouble(0), 6);
}

TEST_P(TrainerTest, BatchesOfOtherShapesHaveRoutinesOfTheirOwn) {
  auto trainer =
      Make(Params({Number(1)}), [](Ops& ops, absl::Span<const Ref> args) {
        const Ref w = ops.BroadcastTo(args[0], ops.dims(args[1]));
        return ops.Sum(ops.Mul(w, args[1]));
      });
  for (int epoch = 0; epoch < 3; ++epoch) {
    ASSERT_THAT(trainer->Step(0.5, {Vector({1, 2, 3})}), IsOk());
    ASSERT_THAT(trainer->Step(0.5, {Vector({4})}), IsOk());
  }
  EXPECT_EQ((*trainer->GetParams())[0].AsDouble(0), 1 - 3 * 0.5 * (6 + 4));
  EXPECT_EQ(trainer->session().recordings(), 2);
}

TEST_P(TrainerTest, RandomNumbersAreThoseOfTheStepInEveryMode) {
  std::vector<double> losses;
  auto loss = [](Ops& ops, absl::Span<const Ref> args) {
    const Ref kept = ops.BernoulliMask(ops.Const(0.5), {64});
    const Ref both = ops.Mul(kept, ops.RandUniform({64}));
    return ops.Sum(ops.Mul(ops.BroadcastTo(args[0], {64}), both));
  };
  auto train = [&](TrainerMode mode, uint32_t seed) {
    ScalarTrainer trainer(TestDevice::Interpreter(), Params({Number(1)}), loss,
                          {.mode = mode, .seed = seed});
    std::vector<double> all;
    for (int k = 0; k < 4; ++k) {
      all.push_back(*trainer.Forward({}));
      EXPECT_EQ(*trainer.Forward({}), all.back());  // of one step
      EXPECT_THAT(trainer.Step(0, {}), IsOk());
      EXPECT_THAT(trainer.session().UpdatedLoss(), IsOkAndHolds(all.back()));
    }
    return all;
  };
  const std::vector<double> seen = train(GetParam(), 7);
  EXPECT_EQ(seen, train(TrainerMode::kEager, 7));
  EXPECT_NE(seen, train(TrainerMode::kEager, 8));
  for (int k = 0; k < 3; ++k) EXPECT_NE(seen[k], seen[k + 1]);
  EXPECT_GT(seen[0], 4);
  EXPECT_LT(seen[0], 32);
}

TEST_P(TrainerTest, AdamAndAdamWOnEveryBackend) {
  const std::vector<TrainerInput> inputs = {Vector({3, 4}), Vector({1, 1})};
  auto adam = Make(Params({Vector({1, 2})}), Squares);
  ASSERT_THAT(AdamStep(*adam, 0.5, {}, inputs), IsOk());
  // The first step of Adam is the rate, against the sign of the gradient.
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR((*adam->GetParams())[0].AsDouble(k), k + 1 - 0.5, 1e-6);
  }
  auto adamw = Make(Params({Vector({1, 2})}), Squares);
  ASSERT_THAT(AdamWStep(*adamw, 0.5, {.weight_decay = 0.25}, inputs), IsOk());
  for (int k = 0; k < 2; ++k) {
    EXPECT_NEAR((*adamw->GetParams())[0].AsDouble(k),
                (k + 1) * (1 - 0.125) - 0.5, 1e-6);
  }
  EXPECT_THAT(AdamStep(*adam, 0.5, {.beta1 = 1}, inputs),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("beta1 is 1; it must be in [0, 1)")));
}

TEST_P(TrainerTest, StatesGoOnOnOtherShapesAndInFiles) {
  auto make = [&] {
    auto trainer =
        Make(Params({Number(1)}), [](Ops& ops, absl::Span<const Ref> args) {
          const Ref w = ops.BroadcastTo(args[0], ops.dims(args[1]));
          const Ref d = ops.Sub(w, args[1]);
          return ops.Sum(ops.Mul(d, d));
        });
    CHECK_OK(trainer->set_rule(Adam({})));
    return trainer;
  };
  auto step = [](ScalarTrainer& trainer, int k) {
    return k % 2 == 0 ? trainer.Step(0.1, {Vector({1, 2, 3})})
                      : trainer.Step(0.1, {Vector({4})});
  };
  auto whole = make();
  for (int k = 0; k < 8; ++k) ASSERT_THAT(step(*whole, k), IsOk());
  const std::string path = absl::StrCat(testing::TempDir(), "/t.npz");
  auto first = make();
  for (int k = 0; k < 5; ++k) ASSERT_THAT(step(*first, k), IsOk());
  ASSERT_THAT(first->Save(path), IsOk());
  auto second = make();
  ASSERT_THAT(second->Restore(path), IsOk());
  EXPECT_EQ(second->session().step(), 5);
  for (int k = 5; k < 8; ++k) ASSERT_THAT(step(*second, k), IsOk());
  EXPECT_TRUE(SameBits((*second->GetParams())[0], (*whole->GetParams())[0]));
  // Without its moments, Adam would go elsewhere.
  auto without = make();
  ASSERT_THAT(without->SetParams(*first->GetParams()), IsOk());
  for (int k = 5; k < 8; ++k) ASSERT_THAT(step(*without, k), IsOk());
  EXPECT_FALSE(SameBits((*without->GetParams())[0], (*whole->GetParams())[0]));
}

TEST_P(TrainerTest, SgdOnTheHostHasTheSameBits) {
  const std::vector<TrainerInput> inputs = {Vector({0.3f, 0.7f}),
                                            Vector({0.1f, 0.9f})};
  auto native = Make(Params({Vector({1.1f, -2.3f})}), Squares);
  ParamList host = Params({Vector({1.1f, -2.3f})});
  for (int k = 0; k < 20; ++k) {
    auto grads = native->Backward(inputs);
    ASSERT_THAT(grads, IsOk());
    ASSERT_THAT(SgdStep(host, 0.37, *grads), IsOk());
    ASSERT_THAT(native->Step(0.37, inputs), IsOk());
    EXPECT_TRUE(SameBits(*host.Get(0), (*native->GetParams())[0]));
  }
  EXPECT_THAT(SgdStep(host, -1, {Vector({0, 0})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the learning rate is -1; it must be finite "
                                 "and not negative")));
  EXPECT_THAT(SgdStep(host, 1, {Vector({0})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("gradient 0 is f32 {1}")));
}

TEST_P(TrainerTest, SchedulesAreOfTheStep) {
  TrainerOptions options;
  options.schedule = [](Graph& graph, int32_t step) {
    return LinearRate(graph, step, 1, 0, 4);
  };
  auto trainer = Make(
      Params({Number(10)}),
      [](Ops&, absl::Span<const Ref> args) { return args[0]; }, options);
  std::vector<double> seen;
  for (int k = 0; k < 4; ++k) {
    ASSERT_THAT(trainer->Step({}), IsOk());
    seen.push_back((*trainer->GetParams())[0].AsDouble(0));
  }
  EXPECT_THAT(seen, ElementsAre(9, 8.25, 7.75, 7.5));
  auto without = Make(Params({Number(1)}),
                      [](Ops&, absl::Span<const Ref> args) { return args[0]; });
  EXPECT_THAT(without->Step({}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("neither a learning rate nor a schedule")));
  EXPECT_THAT(without->Step(-0.5, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the learning rate is -0.5")));
  EXPECT_EQ((*without->GetParams())[0].AsDouble(0), 1);
}

TEST_P(TrainerTest, ErrorsNameTheOperationAndItsPlace) {
  auto trainer =
      Make(Params({Vector({1, 2})}), [](Ops& ops, absl::Span<const Ref> args) {
        return ops.Sum(ops.Add(args[0], args[1]));
      });
  EXPECT_THAT(trainer->Step(1, {Vector({1})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::MatchesRegex(
                           ".*Add \\(trainer_test.cc:[0-9]+\\) of .2., .1.: "
                           "shapes .2. and .1. differ; BroadcastTo repeats "
                           "one.*")));
  EXPECT_THAT(Cells((*trainer->GetParams())[0]), ElementsAre(1, 2));
  ASSERT_THAT(trainer->Step(1, {Vector({1, 1})}), IsOk());  // it goes on
  EXPECT_THAT(Cells((*trainer->GetParams())[0]), ElementsAre(0, 1));
  auto vector = Make(Params({Vector({1, 2})}),
                     [](Ops&, absl::Span<const Ref> args) { return args[0]; });
  EXPECT_THAT(vector->Forward({}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the loss has shape {2}; it must have one")));
  TrainerOptions options;
  options.track_gradients = false;
  auto untracked = Make(
      Params({Number(4)}),
      [](Ops&, absl::Span<const Ref> args) { return args[0]; }, options);
  EXPECT_THAT(untracked->Forward({}), IsOkAndHolds(4));
  EXPECT_THAT(untracked->Backward({}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("does not track gradients")));
  EXPECT_THAT(untracked->Step(1, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("does not track gradients")));
}

TEST_P(TrainerTest, DataThatIsEmpty) {
  auto trainer =
      Make(Params({Number(1)}), [](Ops& ops, absl::Span<const Ref> args) {
        return ops.Mul(args[0], args[1]);
      });
  auto no_log = [](int64_t, double) {};
  EXPECT_THAT(
      TrainCycle(*trainer, 3, 0.5, {}, no_log),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("TrainCycle: empty dataset; give the inputs")));
  EXPECT_THAT(MeanLoss(*trainer, {}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("MeanLoss: empty dataset; give the inputs")));
  const std::vector<std::vector<TrainerInput>> data = {{Number(1)},
                                                       {Number(2)}};
  std::vector<double> losses;
  auto log = [&](int64_t step, double loss) {
    EXPECT_EQ(step, losses.size());
    losses.push_back(loss);
  };
  ASSERT_THAT(TrainCycle(*trainer, 3, 0.5, data, log), IsOk());
  EXPECT_THAT(losses, ElementsAre(1, 1, -0.5));
  EXPECT_THAT(MeanLoss(*trainer, data), IsOkAndHolds(-1.5));
}

TEST_P(TrainerTest, ALossThatCallsItsTrainer) {
  std::unique_ptr<ScalarTrainer> trainer;
  absl::Status inner;
  trainer = Make(Params({Number(1)}), [&](Ops&, absl::Span<const Ref> args) {
    inner = trainer->Step(1, {});
    return args[0];
  });
  EXPECT_THAT(trainer->Forward({}), IsOkAndHolds(1));
  EXPECT_THAT(inner, StatusIs(absl::StatusCode::kFailedPrecondition,
                              HasSubstr("calls its own trainer")));
}

TEST(ParamListTest, LengthsNamesAndTypes) {
  EXPECT_THAT(ParamList::Allocate({Number(1)}, {.requires_grad = {true, true}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("requires_grad list longer than parameter "
                                 "list: 2 and 1")));
  EXPECT_THAT(
      ParamList::Allocate({Number(1), Number(2)}, {.requires_grad = {true}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("shorter than parameter list")));
  EXPECT_THAT(
      ParamList::Allocate({Number(1), Number(2)}, {.names = {"a", "a"}}),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("another one's name")));
  EXPECT_THAT(
      ParamList::Allocate({NdArray(DType::kI32, {2})}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no gradient")));
  ParamList params = Params({NdArray(DType::kI32, {2}), Number(2)},
                            {.requires_grad = {false, true}});
  EXPECT_EQ(params.size(), 2);
  EXPECT_EQ(params.name(1), "p1");
  EXPECT_FALSE(params.requires_grad(0));
}

}  // namespace
}  // namespace ocannl::train
