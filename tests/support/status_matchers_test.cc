// SPDX-License-Identifier: Apache-2.0
//
// The matchers accept what they should, reject the rest, and say why.

#include "tests/support/status_matchers.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::DescribeMatcher;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointee;
using ::testing::StringMatchResultListener;

const absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status Bad() { return absl::InvalidArgumentError("axis 3 of `w`"); }

TEST(StatusMatchersTest, IsOk) {
  EXPECT_THAT(absl::OkStatus(), IsOk());
  EXPECT_THAT(absl::StatusOr<int>(7), IsOk());
  EXPECT_THAT(Bad(), Not(IsOk()));
  EXPECT_THAT(absl::StatusOr<int>(Bad()), Not(IsOk()));
}

TEST(StatusMatchersTest, IsOkAndHolds) {
  const absl::StatusOr<int> seven = 7;
  EXPECT_THAT(seven, IsOkAndHolds(7));
  EXPECT_THAT(seven, IsOkAndHolds(Gt(6)));
  EXPECT_THAT(seven, Not(IsOkAndHolds(8)));
  EXPECT_THAT(absl::StatusOr<int>(Bad()), Not(IsOkAndHolds(7)));
}

TEST(StatusMatchersTest, IsOkAndHoldsTakesMoveOnlyValues) {
  absl::StatusOr<std::unique_ptr<int>> seven = std::make_unique<int>(7);
  EXPECT_THAT(seven, IsOkAndHolds(Pointee(7)));
}

TEST(StatusMatchersTest, StatusIs) {
  EXPECT_THAT(Bad(), StatusIs(kInvalid));
  EXPECT_THAT(Bad(), StatusIs(kInvalid, "axis 3 of `w`"));
  EXPECT_THAT(absl::StatusOr<int>(Bad()), StatusIs(kInvalid, HasSubstr("`w`")));
  EXPECT_THAT(Bad(), Not(StatusIs(kInvalid, HasSubstr("`x`"))));
  EXPECT_THAT(Bad(), Not(StatusIs(absl::StatusCode::kInternal)));
  EXPECT_THAT(absl::OkStatus(), Not(StatusIs(kInvalid)));
}

TEST(StatusMatchersTest, Explanations) {
  StringMatchResultListener listener;
  EXPECT_FALSE(
      ExplainMatchResult(IsOk(), absl::StatusOr<int>(Bad()), &listener));
  EXPECT_EQ(listener.str(), "whose status is INVALID_ARGUMENT: axis 3 of `w`");
  EXPECT_EQ(DescribeMatcher<absl::Status>(StatusIs(kInvalid, "no")),
            "has code INVALID_ARGUMENT, and a message that is equal to \"no\"");
  EXPECT_EQ(DescribeMatcher<absl::StatusOr<int>>(IsOkAndHolds(Gt(6))),
            "is OK and holds a value that is > 6");
}

}  // namespace
}  // namespace ocannl
