// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cli/explain_flag.h"

#include <ostream>
#include <string>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/flags/run_options.h"
#include "ocannl/jit/explain_x86.h"

namespace ocannl {

jit::Isa ExplainedIsa() { return jit::HostIsa().value_or(jit::kIsas[0]); }

absl::Status WriteExplained(const CommandLine& line, Explanation explanation,
                            std::ostream& out, std::optional<jit::Isa> isa,
                            std::string directory) {
  if (directory.empty()) directory = UserPath(line.GetString("explain"));
  if (directory.empty()) {
    return UserError("--explain= names no directory; write --explain=DIR");
  }
  const LoopProgram& program = explanation.program;
  OCANNL_ASSIGN_OR_RETURN(const auto skip, SkippedCodePasses(line));
  if (isa) {
    explanation.stages.push_back(jit::ExplainSchedule(program, *isa, skip));
    OCANNL_ASSIGN_OR_RETURN(explanation.stages.emplace_back(),
                            jit::ExplainX86(program, *isa, skip));
  }
  OCANNL_RETURN_IF_ERROR(WriteStages(explanation.stages, directory));
  out << "The stages of " << program.name << " are in " << directory << "\n";
  return absl::OkStatus();
}

absl::Status WriteExplainedOfRun(
    const CommandLine& line, std::ostream& out,
    absl::FunctionRef<absl::StatusOr<Explanation>()> explain) {
  OCANNL_ASSIGN_OR_RETURN(const DebugLogs debug, StartDebug(line));
  if (!line.Has("explain") && debug.stages.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const Explanation explanation, explain());
  if (!debug.stages.empty()) {
    OCANNL_RETURN_IF_ERROR(
        WriteExplained(line, explanation, out, ExplainedIsa(), debug.stages));
  }
  return line.Has("explain") ? WriteExplained(line, explanation, out)
                             : absl::OkStatus();
}

}  // namespace ocannl
