// SPDX-License-Identifier: Apache-2.0
//
// What users of captured steps stumble over: a session does what a reader of
// the code expects, or says what it does not do.
#include "ocannl/train/trainer/session.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/tiers.h"
#include "ocannl/train/optim/rules.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::shared_ptr<const NdArray> Vector(std::vector<float> values) {
  const auto size = static_cast<int64_t>(values.size());
  return std::make_shared<const NdArray>(NdArray::Of<float>({size}, values));
}

std::vector<float> Cells(const absl::StatusOr<NdArray>& array) {
  CHECK_OK(array.status());
  const auto values = array->values<float>();
  return {values.begin(), values.end()};
}

class SessionTest : public testing::Test {
 protected:
  // Begins a step with one parameter.
  Ref Begin(absl::Span<const TrainerInput> inputs) {
    session_.Begin();
    CHECK_OK(session_.Use(params_, inputs));
    return session_.args()[0];
  }

  ParamList params_ = *ParamList::Allocate({*Vector({1, 2})});
  Session session_{TestDevice::Interpreter(), {}};
  const std::shared_ptr<const UpdateRule> sgd_ =
      std::make_shared<const UpdateRule>(*Sgd());
};

TEST_F(SessionTest, OneInputTwice) {
  const auto x = Vector({3, 4});
  for (int k = 0; k < 3; ++k) {
    const Ref w = Begin({x, x});
    const Ref sum = session_.Add(session_.args()[1], session_.args()[2]);
    EXPECT_THAT(Cells(session_.Value(session_.Mul(w, sum))),
                ElementsAre(6, 16));
  }
  // And then two.
  const Ref w = Begin({x, Vector({0, 1})});
  const Ref sum = session_.Add(session_.args()[1], session_.args()[2]);
  EXPECT_THAT(Cells(session_.Value(session_.Mul(w, sum))), ElementsAre(3, 10));
}

TEST_F(SessionTest, ListsOfTensors) {
  for (int size : {3, 2, 3}) {
    std::vector<TrainerInput> inputs;
    for (int k = 0; k < size; ++k) inputs.push_back(Vector({float(k)}));
    Begin(inputs);
    const Ref joined = session_.ConcatLeadingAxis(session_.args().subspan(1));
    EXPECT_EQ(session_.dims(joined), Dims{size});
    EXPECT_EQ(Cells(session_.Value(joined)).back(), size - 1);
  }
  EXPECT_EQ(session_.recordings(), 2);
}

TEST_F(SessionTest, AResultThatIsAnInputOrAParameter) {
  const Ref w = Begin({Vector({5, 6})});
  EXPECT_THAT(Cells(session_.Value(session_.args()[1])), ElementsAre(5, 6));
  EXPECT_THAT(Cells(session_.Value(w)), ElementsAre(1, 2));
}

TEST_F(SessionTest, ValuesInTheMiddleOfAStepThatRepeats) {
  for (float k : {1.f, 2.f, 3.f, 4.f}) {
    const Ref w = Begin({Vector({k, k})});
    const Ref y = session_.Mul(w, session_.args()[1]);
    const double loss = Cells(session_.Value(y))[1];  // before the update
    const Ref sum = session_.Sum(y);
    ASSERT_THAT(session_.Update(sum, sgd_, 0.5), IsOk());
    EXPECT_THAT(session_.UpdatedLoss(),
                IsOkAndHolds(Cells(session_.Value(y))[0] + loss));
  }
  EXPECT_EQ(session_.recordings(), 1);
}

TEST_F(SessionTest, AStepThatRunsOnceAndNeverAgain) {
  const Ref w = Begin({});
  ASSERT_THAT(session_.Update(session_.Sum(w), sgd_, 0.5), IsOk());
  EXPECT_THAT(Cells(params_.Get(0)), ElementsAre(0.5, 1.5));
}

TEST_F(SessionTest, TensorsOfOtherStepsAndSessions) {
  const Ref old = session_.Exp(Begin({}));
  const Ref w = Begin({});
  EXPECT_THAT(session_.Value(old),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another step or session")));
  session_.Add(old, w);
  EXPECT_THAT(session_.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          HasSubstr("Add (session_test.cc:")));
  // Not even of the same operation in the step before.
  const Ref again = session_.Exp(Begin({}));
  EXPECT_NE(old, again);
  Session other(TestDevice::Interpreter(), {});
  ParamList others = *ParamList::Allocate({*Vector({1, 2})});
  ASSERT_THAT(other.Use(others, {}), IsOk());
  other.Add(other.args()[0], again);
  EXPECT_THAT(other.status(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                       HasSubstr("another step or session")));
  EXPECT_THAT(other.Use(params_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("other parameters")));
  Session third(TestDevice::Interpreter(), {});
  EXPECT_THAT(third.Use(params_, {}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another session's")));
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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("does not have the cells of {3}")));
  ASSERT_THAT(step(false), IsOk());
  EXPECT_THAT(Cells(params_.Get(0)), ElementsAre(0.25, 0.5));  // two halvings
}

TEST_F(SessionTest, GradientsOfAnyTensors) {
  const Ref w = Begin({Vector({3, 4})});
  const Ref x = session_.args()[1];
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
  const auto table = std::make_shared<const NdArray>(
      NdArray::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}));
  for (int64_t k : {0, 1, 2, 1}) {
    Begin({table, Index{k, 3}});
    const Ref row =
        session_.SelectLeading(session_.args()[1], session_.args()[2]);
    EXPECT_THAT(Cells(session_.Value(row)), ElementsAre(2 * k + 1, 2 * k + 2));
  }
  EXPECT_EQ(session_.recordings(), 1);
  session_.Begin();
  EXPECT_THAT(session_.Use(params_, {table, Index{3, 3}}),
              StatusIs(absl::StatusCode::kOutOfRange,
                       HasSubstr("input 1: 3 is not in [0, 3)")));
  Begin({table, Index{0, 2}});
  session_.SelectLeading(session_.args()[1], session_.args()[2]);
  EXPECT_THAT(session_.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          HasSubstr("the index has 2 values")));
}

TEST_F(SessionTest, TapesAreText) {
  const Ref w = Begin({Vector({3, 4})});
  session_.Sum(session_.Scale(session_.Mul(w, session_.args()[1]), 0.5));
  EXPECT_THAT(session_.TapeText(),
              testing::MatchesRegex(
                  "%0 = Param\\(; 0,1,[0-9]+,2\\) : f32 .2.\n"
                  "%1 = Input\\(; [0-9]+,2\\) : f32 .2.\n"
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

// A corner of a derivative decides nothing but itself: the others keep theirs.
TEST_F(SessionTest, DerivativesAtCorners) {
  ParamList corners =
      *ParamList::Allocate({NdArray::Of<float>({4}, {0, -0.5f, 0.5f, 4})});
  Session session(TestDevice::Interpreter(), {});
  auto slopes = [&](auto of) {
    session.Begin();
    CHECK_OK(session.Use(corners, {}));
    const Ref w = session.args()[0];
    auto both = session.Gradients(session.Sum(of(w)), {w});
    CHECK_OK(both.status());
    return Cells(both->gradients[0]);
  };
  EXPECT_THAT(slopes([&](Ref w) { return session.Abs(w); }),
              ElementsAre(0, -1, 1, 1));
  EXPECT_THAT(slopes([&](Ref w) { return session.Relu(w); }),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(slopes([&](Ref w) { return session.Sqrt(w); }),
              ElementsAre(0, 0, testing::FloatNear(0.70710678f, 1e-6f), 0.25));
  EXPECT_THAT(slopes([&](Ref w) { return session.Clamp(w, -0.5, 4); }),
              ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(slopes([&](Ref w) { return session.Max(w, w); }),
              ElementsAre(1, 1, 1, 1));
}

TEST_F(SessionTest, TheSameBitsOnEveryTier) {
  const Backend* native = *FindTier("auto");
  std::optional<NdArray> expected;
  for (const Backend* backend : {TestDevice::Interpreter(), native}) {
    ParamList params = *ParamList::Allocate({*Vector({0.3f, -0.7f, 1.9f})});
    Session session(backend, {});
    for (int k = 0; k < 50; ++k) {
      session.Begin();
      ASSERT_THAT(session.Use(params, {}), IsOk());
      const Ref y = session.Softmax(session.Tanh(session.args()[0]));
      ASSERT_THAT(session.Update(session.Sum(session.Mul(y, y)), sgd_, 0.1),
                  IsOk());
    }
    const NdArray trained = *params.Get(0);
    if (!expected) expected = trained;
    EXPECT_TRUE(SameBits(trained, *expected));
  }
}

}  // namespace
}  // namespace ocannl::train
