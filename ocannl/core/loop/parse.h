// SPDX-License-Identifier: Apache-2.0
//
// Parse: .ll text as a LoopProgram.
//
//   add (n : [0..3]):
//     in x : f32[4, 8]; out y : f32[8];
//     for i0 = 0 to 7 { y[i0] := x[n, i0] + 0.5; }
//
// Statements: `for`, `vec`, `par`, `unroll` loops from 0 to an inclusive bound;
// `cell := value;`, `zero_out buffer;`, `let v : dtype := value;`, `v :=
// value;` and /* comments */. Values: C's operators and precedences, ops by
// name, dtypes as conversions, bits_<dtype> as bit casts, [index] as a number.
// `#` starts a remark that is not kept.
#ifndef OCANNL_CORE_LOOP_PARSE_H_
#define OCANNL_CORE_LOOP_PARSE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/loop/verify.h"

namespace ocannl {

// Errors name line, column, what was found and what was expected. The result
// is well-typed and no deeper than core/ops/depth.h allows; whether its
// accesses are in bounds is for Verify to say.
absl::StatusOr<LoopProgram> Parse(absl::string_view text);

// The same, and what `verify` says, with line and column: Verify or more.
absl::StatusOr<LoopProgram> ParseVerified(
    absl::string_view text,
    absl::Status (*verify)(const LoopProgram&, FaultPlace*));

}  // namespace ocannl

#endif  // OCANNL_CORE_LOOP_PARSE_H_
