// SPDX-License-Identifier: Apache-2.0
//
// The commands of the tool, one function and one file each.
#ifndef OCANNL_CLI_COMMANDS_H_
#define OCANNL_CLI_COMMANDS_H_

#include <cstddef>
#include <iosfwd>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/cli/expression.h"
#include "ocannl/cli/input.h"
#include "ocannl/cli/program_file.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/explain.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/opt/pipeline.h"

namespace ocannl {

struct Command {
  absl::string_view name;
  absl::string_view usage;  // "run FILE.cd|FILE.ll"
  absl::string_view help;
  size_t least_arguments;  // one at most
  unsigned flags;          // of FlagGroup (flags/flags.h)
  absl::Status (*run)(const CommandLine& line, std::ostream& out);
};

// `line` has as many arguments as the table of tool.cc says.
absl::Status RunCommand(const CommandLine& line, std::ostream& out);
absl::Status EvalCommand(const CommandLine& line, std::ostream& out);
absl::Status ExplainCommand(const CommandLine& line, std::ostream& out);
absl::Status FuzzCommand(const CommandLine& line, std::ostream& out);
absl::Status TuneCommand(const CommandLine& line, std::ostream& out);
absl::Status OnnxCommand(const CommandLine& line, std::ostream& out);

// Makes the directory --out, if that is given, before anything is computed.
// Errors: the name is that of a .npy file; the system's.
absl::Status MakeOut(const CommandLine& line);

// Prints a result; with --out, writes it there and prints where it is.
absl::Status ShowValues(const CommandLine& line, absl::string_view name,
                        absl::string_view type, const NdArray& values,
                        std::ostream& out);

// The stages of an expression, its shapes first. Errors: of ExplainCode.
absl::StatusOr<Explanation> ExplainExpression(const Expression& expression,
                                              const PassOptions& options);

// The stages of what a file has, from it on. Errors: the same.
absl::StatusOr<Explanation> ExplainFile(const ProgramFile& file,
                                        const PassOptions& options);

// `program` after a value of --rewrite: `script`
// (core/schedule/rewrite/script.h), or a file that holds one. Errors: a file
// that cannot be read; those of the script.
absl::StatusOr<LoopProgram> Rewritten(std::string script, LoopProgram program);

// Adds the stage that --rewrite makes, if it is given. Errors: of Rewritten;
// more than one.
absl::Status ExplainRewritten(const CommandLine& line,
                              Explanation& explanation);

}  // namespace ocannl

#endif  // OCANNL_CLI_COMMANDS_H_
