// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/recording.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;

class VerifyingBackend : public interp::InterpBackend {
 public:
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override {
    absl::Status status = Verify(program);
    if (!status.ok()) return status;
    return InterpBackend::Compile(program);
  }
};

class RecordingTest : public testing::Test {
 protected:
  // y[k] = 10 n + k
  Routine Step() {
    absl::StatusOr<Routine> step = host_.context.CompileAndLink(
        MustParse("step (n): out y : i64[2];"
                  "for i0 = 0 to 1 { y[i0] := [10*n + i0]; }"));
    CHECK_OK(step);
    return *std::move(step);
  }

  VerifyingBackend backend_;
  TestDevice host_{&backend_};
};

TEST_F(RecordingTest, KeepsTheValuesInOrder) {
  Routine step = Step();
  absl::StatusOr<Recording> all = Recording::Make(step.context(), "y", 10);
  absl::StatusOr<Recording> even = Recording::Make(step.context(), "y", 10);
  ASSERT_THAT(all, IsOk());
  ASSERT_THAT(even, IsOk());
  for (int round = 0; round < 2; ++round) {
    for (int n = 0; n < 10; ++n) {
      ASSERT_THAT(step.Set("n", n), IsOk());
      ASSERT_THAT(step.Run(), IsOk());
      ASSERT_THAT(all->Append(), IsOk());
      if (n % 2 == 1) continue;
      ASSERT_THAT(even->Append(), IsOk());
    }
    absl::StatusOr<NdArray> values = all->Take();
    ASSERT_THAT(values, IsOk());
    EXPECT_THAT(values->dims(), ElementsAre(10, 2));
    for (int64_t k = 0; k < 20; ++k) {
      EXPECT_EQ(values->AsDouble(k), static_cast<double>(k / 2 * 10 + k % 2));
    }
    EXPECT_THAT(even->Take()->values<int64_t>(),
                ElementsAre(0, 1, 20, 21, 40, 41, 60, 61, 80, 81));
  }
}

TEST_F(RecordingTest, ArraysMayHaveAnyName) {
  ASSERT_THAT(host_.context.Write("place", NdArray(DType::kI64, {2})), IsOk());
  absl::StatusOr<Recording> recording =
      Recording::Make(host_.context, "place", 1);
  ASSERT_THAT(recording, IsOk());
}

TEST_F(RecordingTest, ErrorsSayWhatToDo) {
  EXPECT_THAT(Recording::Make(host_.context, "y", 1),
              StatusIs(StatusCode::kNotFound, HasSubstr("no array `y`")));
  Routine step = Step();
  EXPECT_THAT(Recording::Make(step.context(), "y", 0),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("give it room for at least 1")));
  absl::StatusOr<Recording> recording = Recording::Make(step.context(), "y", 1);
  ASSERT_THAT(recording, IsOk());
  EXPECT_THAT(recording->Append(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("`step`")));
  EXPECT_THAT(recording->Take(), StatusIs(StatusCode::kFailedPrecondition,
                                          HasSubstr("holds no value")));
  ASSERT_THAT(step.Set("n", 1), IsOk());
  ASSERT_THAT(step.Run(), IsOk());
  ASSERT_THAT(recording->Append(), IsOk());
  EXPECT_THAT(recording->Append(), StatusIs(StatusCode::kResourceExhausted,
                                            HasSubstr("call Take()")));
  EXPECT_THAT(recording->Take(), IsOk());
  EXPECT_THAT(recording->Append(), IsOk());
}

}  // namespace
}  // namespace ocannl
