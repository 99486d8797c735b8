// SPDX-License-Identifier: Apache-2.0
//
// The macros return the error of the callee, and go on without one.

#include "ocannl/core/base/status_macros.h"

#include <memory>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

absl::Status RequirePositive(int n) {
  if (n > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("not positive");
}

absl::StatusOr<std::unique_ptr<int>> Box(int n) {
  OCANNL_RETURN_IF_ERROR(RequirePositive(n));
  return std::make_unique<int>(n);
}

absl::StatusOr<std::pair<int, int>> Twice(int n) {
  OCANNL_ASSIGN_OR_RETURN(const std::unique_ptr<int> box, Box(n));
  return std::pair<int, int>(*box, *box);
}

absl::StatusOr<int> Sum(int n, int* steps) {
  int sum = 0;
  OCANNL_ASSIGN_OR_RETURN(const auto pair, (Twice(n)));
  OCANNL_ASSIGN_OR_RETURN(std::tie(sum, std::ignore), Twice(n));
  ++*steps;
  return sum + pair.second;
}

TEST(StatusMacrosTest, PassValuesOn) {
  int steps = 0;
  EXPECT_THAT(RequirePositive(1), IsOk());
  EXPECT_THAT(Box(2), IsOkAndHolds(testing::Pointee(2)));
  EXPECT_THAT(Sum(3, &steps), IsOkAndHolds(6));
  EXPECT_EQ(steps, 1);
}

TEST(StatusMacrosTest, ReturnTheErrorAtOnce) {
  int steps = 0;
  EXPECT_THAT(Sum(0, &steps),
              StatusIs(absl::StatusCode::kInvalidArgument, "not positive"));
  EXPECT_EQ(steps, 0);
}

TEST(StatusMacrosTest, EvaluateOnce) {
  int calls = 0;
  const auto run = [&]() -> absl::Status {
    OCANNL_RETURN_IF_ERROR((++calls, absl::OkStatus()));
    OCANNL_ASSIGN_OR_RETURN(calls, absl::StatusOr<int>(calls + 1));
    return absl::OkStatus();
  };
  EXPECT_THAT(run(), IsOk());
  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace ocannl
