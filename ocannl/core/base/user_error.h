// SPDX-License-Identifier: Apache-2.0
//
// UserError: the error of a value that the user gave. The message names the
// value, the place and the fix. Texts with places have Lexer::ErrorAt
// (lexer.h).
//
//   return UserError("--rate=", rate, " is not a number; give one above 0");
#ifndef OCANNL_CORE_BASE_USER_ERROR_H_
#define OCANNL_CORE_BASE_USER_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ocannl {

// An InvalidArgument with the parts, which absl::StrCat takes, as its message.
template <class... Parts>
absl::Status UserError(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_USER_ERROR_H_
