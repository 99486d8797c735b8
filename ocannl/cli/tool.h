// SPDX-License-Identifier: Apache-2.0
//
// The command-line tool: run, eval and explain programs and expressions.
//
//   bazel run //ocannl -- run step.ll --in=x=data.npy
//   bazel run //ocannl -- eval 'relu (x)' --in=x=range-2:4
//   bazel run //ocannl -- explain 'relu ({w} * x)' --in=x=range:3 --stage=ll
#ifndef OCANNL_CLI_TOOL_H_
#define OCANNL_CLI_TOOL_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ocannl {

// Runs the command that `args` name; results go to `out`, errors to `err`.
// `program` is what the user typed before them, for --help. Returns the exit
// code: 0, 1 for an error in what is asked for, 2 for an error in how.
int RunTool(absl::Span<const std::string> args, std::ostream& out,
            std::ostream& err, absl::string_view program = "ocannl");

// What the user typed to start the program that has `argument_0`: that, or
// "bazel run //ocannl --".
std::string ProgramAsTyped(absl::string_view argument_0);

}  // namespace ocannl

#endif  // OCANNL_CLI_TOOL_H_
