// SPDX-License-Identifier: Apache-2.0
//
// --explain=DIR, for whatever compiles something: the stages on the way to code
// as files.
//
//   if (line.Has("explain")) {
//     OCANNL_ASSIGN_OR_RETURN(Explanation step, ExplainCode(code, {}));
//     OCANNL_RETURN_IF_ERROR(WriteExplained(line, std::move(step), std::cout));
//   }
#ifndef OCANNL_CLI_EXPLAIN_FLAG_H_
#define OCANNL_CLI_EXPLAIN_FLAG_H_

#include <iosfwd>
#include <string>

#include "absl/status/status.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/explain.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl {

const Flag& ExplainFlag();

// The best instruction set that this machine has, or else AVX2: neither
// schedules nor listings need a machine that has it.
jit::Isa ExplainedIsa();

// Writes the stages, and schedule and machine code for `isa`, to `directory`,
// or else the one that the line names, which is made if need be, and says so on
// `out`. Errors: no name; a file that cannot be written, by name.
absl::Status WriteExplained(const CommandLine& line, Explanation explanation,
                            std::ostream& out, jit::Isa isa = ExplainedIsa(),
                            std::string directory = "");

}  // namespace ocannl

#endif  // OCANNL_CLI_EXPLAIN_FLAG_H_
