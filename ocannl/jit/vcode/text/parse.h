// SPDX-License-Identifier: Apache-2.0
//
// Parse: what Print (print.h) writes of a nest as VCode again: the same nest
// but for no-operations, registers and constants without use, and the
// statements of its source lines. For tests of passes on texts of their own.
#ifndef OCANNL_JIT_VCODE_TEXT_PARSE_H_
#define OCANNL_JIT_VCODE_TEXT_PARSE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// `program` has the buffers and static indices that the text names. Errors: the
// line and what is wrong there; what Verify (vcode/verify.h) says.
absl::StatusOr<Nest> Parse(const LoopProgram& program, absl::string_view text);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_TEXT_PARSE_H_
