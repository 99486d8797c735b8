// SPDX-License-Identifier: Apache-2.0
//
// RunVcodePass: one pass over the VCode of a text, for goldens.
//
//   RunVcodePass("fold_loads", "avx2", "p (): in x : f32[8];\nnest\n...");
#ifndef OCANNL_TESTS_SUPPORT_RUN_VCODE_PASS_H_
#define OCANNL_TESTS_SUPPORT_RUN_VCODE_PASS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// The nest after the pass, which is verified. `text` is a program, which names
// the buffers, a line `nest` and the nest. Errors: no pass or instruction set
// of that name, a text that does not parse, a nest that is not valid.
absl::StatusOr<std::string> RunVcodePass(absl::string_view pass,
                                         absl::string_view isa,
                                         absl::string_view text);

}  // namespace ocannl

#endif  // OCANNL_TESTS_SUPPORT_RUN_VCODE_PASS_H_
