// SPDX-License-Identifier: Apache-2.0
//
// Where the modes of a ScalarTrainer differ: what a loss may capture and read.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/train/eager/scalar_trainer.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl::train {
namespace {

using testing::HasSubstr;

NdArray Number(float value) { return NdArray::Of<float>({}, {value}); }

ParamList Params(std::vector<NdArray> values) {
  return *ParamList::Allocate(std::move(values));
}

// A compiled loss is called once: what it captures must not change.
TEST(CompiledTest, ChangesOfWhatIsCapturedAreErrors) {
  double factor = 2;
  int calls = 0;
  ScalarTrainer scaled(TestDevice::Interpreter(), Params({Number(1)}),
                       [&](Ops& ops, absl::Span<const Ref> args) {
                         ++calls;
                         return ops.Scale(args[0], factor);
                       },
                       {.mode = TrainerMode::kCompiled});
  for (int k = 0; k < 100; ++k)
    EXPECT_THAT(scaled.Forward({}), IsOkAndHolds(2));
  EXPECT_EQ(calls, 7);  // calls 1, 2, 4, ..., 64
  factor = 3;
  for (int k = 100; k < 127; ++k) {
    EXPECT_THAT(scaled.Forward({}), IsOkAndHolds(2));
  }
  EXPECT_THAT(scaled.Forward({}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("what changes must be an input")));
  float value = 2;
  ScalarTrainer constant(TestDevice::Interpreter(), Params({Number(1)}),
                         [&](Ops& ops, absl::Span<const Ref> args) {
                           return ops.Mul(args[0], ops.Const(value));
                         },
                         {.mode = TrainerMode::kCompiled});
  EXPECT_THAT(constant.Forward({}), IsOkAndHolds(2));
  value = 5;
  EXPECT_THAT(constant.Forward({}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("has other values than when")));
  ScalarTrainer reads(TestDevice::Interpreter(), Params({Number(1)}),
                      [&](Ops& ops, absl::Span<const Ref> args) {
                        EXPECT_THAT(
                            ops.Value(args[0]),
                            StatusIs(absl::StatusCode::kFailedPrecondition,
                                     HasSubstr("has no values")));
                        return args[0];
                      },
                      {.mode = TrainerMode::kCompiled});
  EXPECT_THAT(reads.Forward({}), IsOkAndHolds(1));
}

TEST(CompiledTest, OtherNumbersOfInputs) {
  ScalarTrainer sum(TestDevice::Interpreter(), Params({Number(1)}),
                    [](Ops& ops, absl::Span<const Ref> args) {
                      Ref all = args[0];
                      for (Ref x : args.subspan(1)) all = ops.Add(all, x);
                      return all;
                    },
                    {.mode = TrainerMode::kCompiled});
  for (int k = 0; k < 4; ++k) {
    EXPECT_THAT(sum.Forward({Number(10), Number(20)}), IsOkAndHolds(31));
    EXPECT_THAT(sum.Forward({Number(10)}), IsOkAndHolds(11));
    EXPECT_THAT(sum.Forward({}), IsOkAndHolds(1));
  }
}

TEST(CompiledTest, ALossThatFailsAtFirst) {
  bool fails = true;
  ScalarTrainer trainer(TestDevice::Interpreter(), Params({Number(7)}),
                        [&](Ops& ops, absl::Span<const Ref> args) {
                          const Ref y = ops.Scale(args[0], fails ? 2 : 3);
                          return fails ? Ref() : y;
                        },
                        {.mode = TrainerMode::kCompiled});
  for (int k = 0; k < 5; ++k) {
    EXPECT_THAT(trainer.Forward({}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         HasSubstr("or of no step")));
  }
  fails = false;
  for (int k = 0; k < 5; ++k) {
    EXPECT_THAT(trainer.Forward({}), IsOkAndHolds(21));
  }
}

TEST(CompiledTest, NeitherParametersNorInputs) {
  ScalarTrainer trainer(
      TestDevice::Interpreter(), Params({}),
      [](Ops& ops, absl::Span<const Ref>) { return ops.Const(5); },
      {.mode = TrainerMode::kCompiled});
  for (int k = 0; k < 3; ++k) {
    EXPECT_THAT(trainer.Forward({}), IsOkAndHolds(5));
  }
}

TEST(CompiledTest, ALossThatIsAParameterOfSeveral) {
  ScalarTrainer trainer(
      TestDevice::Interpreter(), Params({Number(1), Number(2), Number(3)}),
      [](Ops&, absl::Span<const Ref> args) { return args[0]; },
      {.mode = TrainerMode::kCompiled});
  auto grads = trainer.Backward({});
  ASSERT_THAT(grads, IsOk());
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ((*grads)[k].AsDouble(0), k == 0 ? 1 : 0);
  }
}

TEST(EagerTest, WhatIsCapturedMayChange) {
  double factor = 2;
  float value = 3;
  std::vector<std::string> changes;
  TrainerOptions options;
  options.on_change = [&](absl::string_view what) {
    changes.emplace_back(what);
  };
  ScalarTrainer trainer(
      TestDevice::Interpreter(), Params({Number(1)}),
      [&](Ops& ops, absl::Span<const Ref> args) {
        const Ref scaled = ops.Scale(args[0], factor);
        return ops.Mul(scaled, ops.Const(value));
      },
      options);
  EXPECT_THAT(trainer.Forward({}), IsOkAndHolds(6));
  value = 5;  // data: the same code
  EXPECT_THAT(trainer.Forward({}), IsOkAndHolds(10));
  EXPECT_EQ(trainer.session().recordings(), 1);
  EXPECT_TRUE(changes.empty());
  factor = 4;  // a part of the code
  EXPECT_THAT(trainer.Forward({}), IsOkAndHolds(20));
  EXPECT_EQ(trainer.session().recordings(), 2);
  ASSERT_EQ(changes.size(), 1);
  EXPECT_THAT(changes[0], HasSubstr("operation 1 is Scale(%0; 4) "));
  EXPECT_THAT(changes[0], HasSubstr("and was Scale(%0; 2) "));
  factor = 2;  // both are kept
  EXPECT_THAT(trainer.Forward({}), IsOkAndHolds(10));
  EXPECT_EQ(trainer.session().recordings(), 2);
}

TEST(EagerTest, BranchesOnValues) {
  ScalarTrainer trainer(TestDevice::Interpreter(), Params({Number(2)}),
                        [&](Ops& ops, absl::Span<const Ref> args) {
                          const Ref y = ops.Mul(args[0], args[1]);
                          const double now = ops.Value(y)->AsDouble(0);
                          return now > 0 ? ops.Scale(y, 10) : ops.Abs(y);
                        });
  for (int k = 0; k < 3; ++k) {
    EXPECT_THAT(trainer.Forward({Number(3)}), IsOkAndHolds(60));
    EXPECT_THAT(trainer.Forward({Number(-3)}), IsOkAndHolds(6));
    EXPECT_EQ((*trainer.Backward({Number(-3)}))[0].AsDouble(0), 3);
  }
  EXPECT_EQ(trainer.session().recordings(), 2);
}

}  // namespace
}  // namespace ocannl::train
