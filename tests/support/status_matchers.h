// SPDX-License-Identifier: Apache-2.0
//
// Matchers for absl::Status and absl::StatusOr<T>.
//
//   EXPECT_THAT(Validate(box), IsOk());
//   EXPECT_THAT(Area(box), IsOkAndHolds(Gt(6)));
//   EXPECT_THAT(Area(flat), StatusIs(absl::StatusCode::kInvalidArgument,
//                                    HasSubstr("width of `flat`")));

#ifndef TESTS_SUPPORT_STATUS_MATCHERS_H_
#define TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace ocannl {
namespace status_matchers_internal {

inline const absl::Status& ToStatus(const absl::Status& status) {
  return status;
}

template <typename T>
const absl::Status& ToStatus(const absl::StatusOr<T>& status_or) {
  return status_or.status();
}

}  // namespace status_matchers_internal

MATCHER(IsOk, negation ? "is an error" : "is OK") {
  const absl::Status& status = status_matchers_internal::ToStatus(arg);
  *result_listener << "whose status is " << status;
  return status.ok();
}

// Matches a StatusOr<T> with a value that matches `value`.
MATCHER_P(
    IsOkAndHolds, value,
    absl::StrCat(
        negation ? "is an error or holds a value that "
                 : "is OK and holds a value that ",
        testing::DescribeMatcher<typename std::decay_t<arg_type>::value_type>(
            value, negation))) {
  if (!arg.ok()) {
    *result_listener << "whose status is " << arg.status();
    return false;
  }
  return testing::ExplainMatchResult(value, *arg, result_listener);
}

// Matches a status with this code and a message that matches `message`.
MATCHER_P2(
    StatusIs, code, message,
    absl::StrCat(negation ? "has a code other than " : "has code ",
                 absl::StatusCodeToString(code),
                 negation ? ", or a message that " : ", and a message that ",
                 testing::DescribeMatcher<std::string>(message, negation))) {
  const absl::Status& status = status_matchers_internal::ToStatus(arg);
  *result_listener << "whose status is " << status;
  return status.code() == code &&
         testing::Value(std::string(status.message()), message);
}

// Matches a status with this code, whatever its message.
inline auto StatusIs(absl::StatusCode code) {
  return StatusIs(code, testing::_);
}

}  // namespace ocannl

#endif  // TESTS_SUPPORT_STATUS_MATCHERS_H_
