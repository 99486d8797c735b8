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
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/explain.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl {

// The best instruction set that this machine has, or else the first: neither
// schedules nor listings need a machine that has it.
jit::Isa ExplainedIsa();

// Writes the stages, and schedule and machine code for `isa`, if it has one, to
// `directory`. If that is empty, the directory is the one that the line names.
// It is made if it does not exist, and named on `out`. Errors: no name; a file
// that cannot be written.
absl::Status WriteExplained(const CommandLine& line, Explanation explanation,
                            std::ostream& out,
                            std::optional<jit::Isa> isa = ExplainedIsa(),
                            std::string directory = "");

// The same for --debug, too, of what `explain` returns; nothing if the line has
// neither. Errors: also those of `explain`.
absl::Status WriteExplainedOfRun(
    const CommandLine& line, std::ostream& out,
    absl::FunctionRef<absl::StatusOr<Explanation>()> explain);

}  // namespace ocannl

#endif  // OCANNL_CLI_EXPLAIN_FLAG_H_
