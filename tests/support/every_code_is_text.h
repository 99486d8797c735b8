// SPDX-License-Identifier: Apache-2.0
//
// Whoever includes this holds all code that is compiled against its .cd text:
// ParseCd(PrintCd(c)) == c. Code hooks of the test itself replace it.
#ifndef TESTS_SUPPORT_EVERY_CODE_IS_TEXT_H_
#define TESTS_SUPPORT_EVERY_CODE_IS_TEXT_H_

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ocannl/core/cd/equal.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/cd/print.h"
#include "ocannl/core/compile.h"

namespace ocannl {

inline const bool kEveryCodeIsText = [] {
  SetCodeHook([](Assignments& code) {
    const absl::StatusOr<Assignments> again = ParseCd(PrintCd(code));
    EXPECT_TRUE(!code.contradiction.ok() || (again.ok() && *again == code))
        << again.status() << "\n"
        << PrintCd(code);
    return absl::OkStatus();
  });
  return true;
}();

}  // namespace ocannl

#endif  // TESTS_SUPPORT_EVERY_CODE_IS_TEXT_H_
