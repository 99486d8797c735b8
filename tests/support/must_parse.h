// SPDX-License-Identifier: Apache-2.0
//
// Programs of tests: their text is right, or the test ends.
#ifndef TESTS_SUPPORT_MUST_PARSE_H_
#define TESTS_SUPPORT_MUST_PARSE_H_

#include <utility>

#include "absl/strings/string_view.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"

namespace ocannl {

inline LoopProgram MustParse(absl::string_view text) {
  absl::StatusOr<LoopProgram> program = Parse(text);
  CHECK_OK(program) << text;
  return *std::move(program);
}

}  // namespace ocannl

#endif  // TESTS_SUPPORT_MUST_PARSE_H_
