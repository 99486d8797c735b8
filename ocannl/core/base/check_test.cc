// SPDX-License-Identifier: Apache-2.0
//
// A check that holds does nothing; one that fails says where and why.

#include "ocannl/core/base/check.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

enum class Color : uint8_t { kRed, kBlue };

struct Opaque {
  friend bool operator==(Opaque, Opaque) { return false; }
};

constexpr int Half(int n) {
  CHECK_EQ(n % 2, 0) << "of " << n;
  CHECK(n >= 0);
  return n / 2;
}
static_assert(Half(6) == 3);

TEST(CheckTest, HoldsSilently) {
  CHECK(true) << "unused";
  CHECK_EQ(1, 1);
  CHECK_NE(Color::kRed, Color::kBlue);
  CHECK_LT(1.5, 2);
  CHECK_LE(std::string("a"), "a");
  CHECK_GT(2, 1);
  CHECK_GE(2, 2);
  CHECK_OK(absl::OkStatus());
  CHECK_OK(absl::StatusOr<std::unique_ptr<int>>(nullptr));
}

TEST(CheckTest, ComparesIntegersByValue) {
  const size_t size = 3;
  CHECK_LT(-1, size);
  CHECK_NE(uint64_t{0} - 1, -1);
  EXPECT_DEATH(CHECK_GT(-1, size), "-1 > size \\(-1 vs. 3\\)");
}

TEST(CheckTest, EvaluatesItsArgumentsOnceAndTheMessageNever) {
  int arguments = 0, messages = 0;
  CHECK(++arguments > 0) << ++messages;
  CHECK_EQ(++arguments, 2) << ++messages;
  CHECK_OK((++arguments, absl::OkStatus())) << ++messages;
  EXPECT_EQ(arguments, 3);
  EXPECT_EQ(messages, 0);
}

TEST(CheckTest, LeavesTheElseToTheSurroundingIf) {
  bool reached = false;
  if (!reached)
    CHECK(true);
  else
    FAIL();
  if (reached)
    CHECK_EQ(1, 2);
  else
    reached = true;
  EXPECT_TRUE(reached);
}

TEST(CheckDeathTest, SaysWhereAndWhy) {
  EXPECT_DEATH(CHECK(1 > 2) << "axis " << 3,
               "check_test.cc:[0-9]+: CHECK failed: 1 > 2 axis 3");
  EXPECT_DEATH(Half(7), "n % 2 == 0 \\(1 vs. 0\\) of 7");
  EXPECT_DEATH(CHECK_OK(absl::InvalidArgumentError("no rows")) << "in w",
               "is OK \\(INVALID_ARGUMENT: no rows\\) in w");
  EXPECT_DEATH(CHECK_OK(absl::StatusOr<int>(absl::InternalError("x"))),
               "INTERNAL: x");
}

TEST(CheckDeathTest, EachComparisonCanFail) {
  EXPECT_DEATH(CHECK_EQ(1, 2), "1 == 2");
  EXPECT_DEATH(CHECK_NE(1, 1), "1 != 1");
  EXPECT_DEATH(CHECK_LT(2, 2), "2 < 2");
  EXPECT_DEATH(CHECK_LE(3, 2), "3 <= 2");
  EXPECT_DEATH(CHECK_GT(2, 2), "2 > 2");
  EXPECT_DEATH(CHECK_GE(1, 2), "1 >= 2");
}

TEST(CheckDeathTest, PrintsWhatCanBePrinted) {
  EXPECT_DEATH(CHECK_EQ(int8_t{7}, uint8_t{9}), "\\(7 vs. 9\\)");
  EXPECT_DEATH(CHECK_EQ(Color::kRed, Color::kBlue), "\\(0 vs. 1\\)");
  EXPECT_DEATH(CHECK_EQ(Opaque(), Opaque()),
               "\\(\\(unprintable\\) vs. \\(unprintable\\)\\)");
}

}  // namespace
}  // namespace ocannl
