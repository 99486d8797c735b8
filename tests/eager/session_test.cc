// SPDX-License-Identifier: Apache-2.0
//
// What users of captured steps stumble over: a session does what a reader of
// the code expects, or says what it does not do.
#include "ocannl/train/eager/session.h"

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
std::shared_ptr<const T> Shared(T value) {
  return std::make_shared<const T>(std::move(value));
}

std::shared_ptr<const NdArray> Vector(const std::vector<float>& values) {
  const auto size = static_cast<int64_t>(values.size());
  return Shared(NdArray::Of<float>({size}, values));
}

std::vector<float> Cells(const absl::StatusOr<NdArray>& array) {
  CHECK_OK(array.status());
  const auto values = array->values<float>();
  return {values.begin(), values.end()};
}

// What comes at the wrong time, and what is wrong at any.
auto Refused(const std::string& text) {
  return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(text));
}
auto Invalid(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
}

class SessionTest : public testing::Test {
 protected:
  // Begins a step with one parameter.
  Ref Begin(absl::Span<const TrainerInput> inputs) {
    session_.Begin();
    CHECK_OK(session_.Use(params_, inputs));
    return session_.args()[0];
  }

  // The tensor of the input at that place.
  Ref Input(size_t place) { return session_.args()[1 + place]; }

  std::vector<float> Values(Ref ref) { return Cells(session_.Value(ref)); }

  ParamList params_ = *ParamList::Allocate({*Vector({1, 2})});
  Session session_{TestDevice::Interpreter(), {}};
  const std::shared_ptr<const UpdateRule> sgd_ = Shared(*Sgd());
};

TEST_F(SessionTest, OneInputTwice) {
  const auto x = Vector({3, 4});
  for (int k = 0; k < 3; ++k) {
    const Ref w = Begin({x, x});
    const Ref sum = session_.Add(Input(0), Input(1));
    EXPECT_THAT(Values(session_.Mul(w, sum)), ElementsAre(6, 16));
  }
  // And then two.
  const Ref w = Begin({x, Vector({0, 1})});
  const Ref sum = session_.Add(Input(0), Input(1));
  EXPECT_THAT(Values(session_.Mul(w, sum)), ElementsAre(3, 10));
}

TEST_F(SessionTest, ListsOfTensors) {
  for (int size : {3, 2, 3}) {
    std::vector<TrainerInput> inputs;
    for (int k = 0; k < size; ++k) inputs.push_back(Vector({float(k)}));
    Begin(inputs);
    const Ref joined = session_.ConcatLeadingAxis(session_.args().subspan(1));
    EXPECT_EQ(session_.dims(joined), Dims{size});
    EXPECT_EQ(Values(joined).back(), size - 1);
  }
  EXPECT_EQ(session_.recordings(), 2);
}

TEST_F(SessionTest, AResultThatIsAnInputOrAParameter) {
  const Ref w = Begin({Vector({5, 6})});
  EXPECT_THAT(Values(Input(0)), ElementsAre(5, 6));
  EXPECT_THAT(Values(w), ElementsAre(1, 2));
}

TEST_F(SessionTest, ValuesInTheMiddleOfAStepThatRepeats) {
  for (float k : {1.f, 2.f, 3.f, 4.f}) {
    const Ref w = Begin({Vector({k, k})});
    const Ref y = session_.Mul(w, Input(0));
    const std::vector<float> now = Values(y);
    ASSERT_THAT(session_.Update(session_.Sum(y), sgd_, 0.5), IsOk());
    EXPECT_THAT(session_.UpdatedLoss(), IsOkAndHolds(now[0] + now[1]));
  }
  EXPECT_EQ(session_.recordings(), 1);
}

TEST_F(SessionTest, AStepEndsWithItsUpdateAndWithOtherParameters) {
  for (int k = 0; k < 2; ++k) {
    const Ref w = Begin({});
    const Ref loss = session_.Sum(w);
    ASSERT_THAT(session_.Update(loss, sgd_, 0.5), IsOk());
    const auto ended = Refused("Begin the next one");
    EXPECT_THAT(session_.Value(w), ended);
    EXPECT_THAT(session_.LossValue(loss), ended);
    EXPECT_THAT(session_.Update(loss, sgd_, 0.5), ended);
    session_.Exp(w);
    EXPECT_THAT(session_.status(), ended);
    const Ref next = Begin({});
    ASSERT_THAT(params_.Set({*Vector({5, 6})}), IsOk());
    EXPECT_THAT(session_.Value(next), ended);
    EXPECT_THAT(session_.Update(session_.Sum(next), sgd_, 0.5), ended);
  }
  EXPECT_THAT(Cells(params_.Get(0)), ElementsAre(5, 6));
}

TEST_F(SessionTest, StepsWithoutParametersAndWithFewerInputs) {
  session_.Begin();
  const Ref only = session_.Scale(session_.Const(100), 2);
  EXPECT_THAT(Values(only), ElementsAre(200));
  EXPECT_THAT(session_.Update(only, sgd_, 1), Refused("Use comes first"));
  EXPECT_THAT(Values(Begin({})), ElementsAre(1, 2));
  auto sum = [&](std::vector<TrainerInput> inputs) {
    Ref all = Begin(inputs);
    for (Ref x : session_.args().subspan(1)) all = session_.Add(all, x);
    return Values(all);
  };
  const auto x = Vector({10, 20});
  for (int k = 0; k < 2; ++k) {
    EXPECT_THAT(sum({x, x}), ElementsAre(21, 42));
    EXPECT_THAT(sum({x}), ElementsAre(11, 22));
    EXPECT_THAT(sum({}), ElementsAre(1, 2));
  }
}

TEST_F(SessionTest, LossesOfOneTape) {
  const Ref w = Begin({});
  const Ref sum = session_.Sum(w);
  const Ref scaled = session_.Scale(sum, 10);
  const Ref cell = session_.Reshape(scaled, {1});
  EXPECT_THAT(session_.LossValue(sum), IsOkAndHolds(3));
  EXPECT_THAT(session_.LossValue(scaled), IsOkAndHolds(30));
  EXPECT_THAT(session_.LossValue(cell), IsOkAndHolds(30));
  // What comes after the loss does not reach it.
  auto both = session_.Gradients(sum, {w, scaled});
  ASSERT_THAT(both, IsOk());
  EXPECT_THAT(Cells(both->gradients[0]), ElementsAre(1, 1));
  EXPECT_THAT(Cells(both->gradients[1]), ElementsAre(0));
  ASSERT_THAT(session_.Update(sum, sgd_, 1), IsOk());
  const Ref other = Begin({});
  EXPECT_THAT(session_.LossValue(session_.Scale(session_.Sum(other), 10)),
              IsOkAndHolds(10));
  EXPECT_THAT(session_.UpdatedLoss(), IsOkAndHolds(3));
}

TEST_F(SessionTest, GradientsOfTensorsOfOtherShapes) {
  for (int size : {3, 2, 3}) {
    const Ref all = Begin({Vector(std::vector<float>(size, 2))});
    const Ref w = session_.BroadcastTo(session_.Sum(all), {size});
    const Ref y = session_.Mul(w, Input(0));
    auto both = session_.Gradients(session_.Sum(session_.Mul(y, y)), {y});
    ASSERT_THAT(both, IsOk());
    EXPECT_EQ(Cells(both->gradients[0]), std::vector<float>(size, 12));
  }
}

TEST_F(SessionTest, NumbersAreTheirBits) {
  auto inverse = [&](double factor) {
    return Values(session_.Inv(session_.Scale(Begin({}), factor)))[0];
  };
  EXPECT_GT(inverse(0.0), 0);
  EXPECT_LT(inverse(-0.0), 0);
  for (int k = 0; k < 3; ++k) EXPECT_TRUE(std::isnan(inverse(std::nan(""))));
  EXPECT_EQ(session_.recordings(), 3);
  // Rules, too.
  auto decayed = [](double decay) {
    ParamList params = *ParamList::Allocate({*Vector({1e3f, 1})});
    Session session(TestDevice::Interpreter(), {});
    for (double each : {0.1234561, decay}) {
      session.Begin();
      CHECK_OK(session.Use(params, {}));
      const auto rule = Shared(*Sgd({.weight_decay = each}));
      CHECK_OK(session.Update(session.Sum(session.args()[0]), rule, 0.1));
    }
    return Cells(params.Get(0));
  };
  EXPECT_NE(decayed(0.1234561), decayed(0.1234564));
}

TEST_F(SessionTest, TapesOfManyStepsAreDropped) {
  for (int k = 2; k <= 100; ++k) {
    for (double factor : {1., double(k)}) {
      const Ref w = Begin({Vector({1, 1})});
      const Ref x = session_.Scale(Input(0), factor);
      EXPECT_THAT(session_.LossValue(session_.Sum(session_.Mul(w, x))),
                  IsOkAndHolds(3 * factor));
    }
  }
  EXPECT_EQ(session_.recordings(), 100);  // the first is always in use
  const Ref w = Begin({});
  ASSERT_THAT(session_.Update(session_.Sum(w), sgd_, 0), IsOk());
  for (int k = 0; k < 40; ++k) {
    const Ref v = Begin({});
    EXPECT_THAT(session_.LossValue(session_.Sum(session_.Scale(v, 200 + k))),
                IsOk());
  }
  EXPECT_THAT(session_.UpdatedLoss(), Refused("there was no update since"));
}

TEST_F(SessionTest, RulesThatCountStepsOfAllParameters) {
  ParamList params = *ParamList::Allocate({*Vector({1}), *Vector({2})});
  Session session(TestDevice::Interpreter(), {});
  const auto adam = Shared(*Adam({}));
  auto step = [&](bool both) {
    session.Begin();
    CHECK_OK(session.Use(params, {}));
    const Ref w0 = session.args()[0], w1 = session.args()[1];
    const Ref loss = session.Sum(both ? session.Add(w0, w1) : w1);
    return session.Update(loss, adam, 0.1);
  };
  ASSERT_THAT(step(true), IsOk());
  EXPECT_THAT(step(false),
              Refused("counts the steps of its parameters together: "
                      "p0, p1; the gradient of this loss reaches p1"));
  ASSERT_THAT(step(true), IsOk());
}

TEST_F(SessionTest, ParametersOutliveTheirSession) {
  ParamList params = *ParamList::Allocate({*Vector({1, 2})});
  for (int k = 0; k < 2; ++k) {
    Session session(TestDevice::Interpreter(), {});
    session.Begin();
    ASSERT_THAT(session.Use(params, {}), IsOk());
    ASSERT_THAT(session.Update(session.Sum(session.args()[0]), sgd_, 0.5),
                IsOk());
  }
  EXPECT_THAT(Cells(params.Get(0)), ElementsAre(0, 1));
}

TEST_F(SessionTest, BadNumbersAndTypes) {
  const Ref loss = session_.Sum(Begin({}));
  EXPECT_THAT(session_.Update(loss, sgd_, 1e39),
              Invalid("the learning rate is inf"));
  EXPECT_THAT(ParamList::Allocate({*Vector({1})}, {.names = {"session_rate"}}),
              Invalid("begin with session_"));
  Begin({Shared(NdArray::Of<int32_t>({2}, {1, 2}))});
  session_.Scale(Input(0), 0.5);
  EXPECT_THAT(session_.status(),
              Invalid("operand 1 is of i32; it must be of floats"));
  Begin({Shared(NdArray(DType::kF32, {1, 1}))});
  session_.AvgPool(Input(0), {{1}, {3}, {1}});
  EXPECT_THAT(session_.status(), Invalid("a padding of 1 is not smaller"));
}

// With a state of 3 MiB beside the parameter.
TEST_F(SessionTest, FilesOfOtherSteps) {
  ASSERT_THAT(session_.Update(session_.Sum(Begin({})), sgd_, 0.5), IsOk());
  const std::string path = absl::StrCat(testing::TempDir(), "/s.npz");
  TestDevice host;
  CHECK_OK(host.context.Write("p0", *Vector({7, 8})));
  CHECK_OK(host.context.Write("state", NdArray(DType::kF32, {3 << 18})));
  auto save = [&](int64_t steps) {
    CHECK_OK(host.context.Write("session_steps_done",
                                NdArray::Of<int64_t>({}, {steps})));
    CHECK_OK(SaveParams(path,
                        {{"p0", DType::kF32, {2}},
                         {"state", DType::kF32, {3 << 18}},
                         {"session_steps_done", DType::kI64, {}}},
                        host.context));
  };
  save(-1);
  EXPECT_THAT(session_.Restore(path), Invalid("is no number of steps"));
  save(4);
  EXPECT_EQ(session_.Restore(path, {.mib = 1}).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(Cells(params_.Get(0)), ElementsAre(0.5, 1.5));
  EXPECT_EQ(session_.step(), 1);
  EXPECT_THAT(session_.Restore(path, {.mib = 4}), IsOk());
  EXPECT_THAT(Cells(params_.Get(0)), ElementsAre(7, 8));
  EXPECT_EQ(session_.step(), 4);
}

TEST_F(SessionTest, AStepThatRunsOnceAndNeverAgain) {
  const Ref w = Begin({});
  ASSERT_THAT(session_.Update(session_.Sum(w), sgd_, 0.5), IsOk());
  EXPECT_THAT(Cells(params_.Get(0)), ElementsAre(0.5, 1.5));
}

TEST_F(SessionTest, TensorsOfOtherStepsAndSessions) {
  const Ref old = session_.Exp(Begin({}));
  const Ref w = Begin({});
  EXPECT_THAT(session_.Value(old), Refused("another step or session"));
  session_.Add(old, w);
  EXPECT_THAT(session_.status(), Refused("Add (session_test.cc:"));
  // Not even of the same operation in the step before.
  const Ref again = session_.Exp(Begin({}));
  EXPECT_NE(old, again);
  Session other(TestDevice::Interpreter(), {});
  ParamList others = *ParamList::Allocate({*Vector({1, 2})});
  ASSERT_THAT(other.Use(others, {}), IsOk());
  other.Add(other.args()[0], again);
  EXPECT_THAT(other.status(), Refused("another step or session"));
  EXPECT_THAT(other.Use(params_, {}), Refused("other parameters"));
  Session third(TestDevice::Interpreter(), {});
  EXPECT_THAT(third.Use(params_, {}), Refused("another session's"));
}

TEST_F(SessionTest, AnErrorOrAnExceptionInTheMiddleOfAStep) {
  auto step = [&](bool throws) {
    const Ref w = Begin({});
    const Ref y = session_.Mul(w, w);
    if (throws) throw std::runtime_error("stop");
    return session_.Update(session_.Sum(y), sgd_, 0.25);
  };
  ASSERT_THAT(step(false), IsOk());
  EXPECT_THROW((void)step(true), std::runtime_error);
  const Ref bad = session_.Reshape(Begin({}), {3});
  EXPECT_THAT(session_.Update(session_.Sum(bad), sgd_, 1),
              Invalid("does not have the cells of {3}"));
  ASSERT_THAT(step(false), IsOk());
  EXPECT_THAT(Cells(params_.Get(0)), ElementsAre(0.25, 0.5));  // two halvings
}

TEST_F(SessionTest, GradientsOfAnyTensors) {
  const Ref w = Begin({Vector({3, 4})});
  const Ref x = Input(0);
  const Ref y = session_.Mul(w, x);
  const Ref unused = session_.Exp(w);
  const Ref loss = session_.Sum(session_.Mul(y, y));
  auto both = session_.Gradients(loss, {w, x, y, unused, loss});
  ASSERT_THAT(both, IsOk());
  EXPECT_EQ(both->loss, 9 + 64);
  std::vector<std::vector<float>> gradients;
  for (const NdArray& gradient : both->gradients) {
    gradients.push_back(Cells(gradient));
  }
  EXPECT_THAT(gradients, ElementsAre(ElementsAre(18, 64),  // 2 y x
                                     ElementsAre(0, 0),    // requires none
                                     ElementsAre(6, 16), ElementsAre(0, 0),
                                     ElementsAre(1)));
}

TEST_F(SessionTest, IndicesSelectWithoutANewRoutine) {
  const auto table = Shared(NdArray::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  for (int64_t k : {0, 1, 2, 1}) {
    Begin({table, Index{k, 3}});
    const Ref row = session_.SelectLeading(Input(0), Input(1));
    EXPECT_THAT(Values(row), ElementsAre(2 * k + 1, 2 * k + 2));
  }
  EXPECT_EQ(session_.recordings(), 1);
  session_.Begin();
  EXPECT_THAT(session_.Use(params_, {table, Index{3, 3}}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("input 1: 3 is not in [0, 3)")));
  Begin({table, Index{0, 2}});
  session_.SelectLeading(Input(0), Input(1));
  EXPECT_THAT(session_.status(), Invalid("the index has 2 values"));
}

TEST_F(SessionTest, TapesAreText) {
  const Ref w = Begin({Vector({3, 4})});
  session_.Sum(session_.Scale(session_.Mul(w, Input(0)), 0.5));
  EXPECT_THAT(session_.TapeText(),
              testing::MatchesRegex(
                  "%0 = Param\\(f32 .2.\\) : f32 .2.\n"
                  "%1 = Input\\(f32 .2.\\) : f32 .2.\n"
                  "%2 = Mul\\(%0, %1\\) : f32 .2.    # session_test.cc:.*\n"
                  "%3 = Scale\\(%2; 0.5\\) : f32 .2.    # .*\n"
                  "%4 = Sum\\(%3\\) : f32 ..    # .*\n"));
}

TEST_F(SessionTest, AStepThatIsAnotherOneEachTime) {
  for (int k = 0; k < 100; ++k) {
    const Ref w = Begin({});
    EXPECT_THAT(session_.LossValue(session_.Sum(session_.Scale(w, k))),
                IsOkAndHolds(3. * k));
  }
  EXPECT_EQ(session_.recordings(), 100);
}

}  // namespace
}  // namespace ocannl::train
