// SPDX-License-Identifier: Apache-2.0
//
// Every stage of a routine as text, up to what the tiers get: what the tool's
// `explain` prints and what is asked for in bug reports. A tier may have more:
// jit/explain_x86.h.
#ifndef OCANNL_CORE_EXPLAIN_H_
#define OCANNL_CORE_EXPLAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/opt/pipeline.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

struct StageText {
  std::string stage;      // "shapes", "cd", "memory", "unoptimized", or a
                          // pass's name; the last of these is "ll"
  std::string file_name;  // "<routine>.cd", "<routine>-unoptimized.ll"
  std::string text;
};

// The shape of every tensor of `shapes`, a line each, in the order of ids.
StageText ExplainShapes(const Graph& graph, const Shapes& shapes,
                        absl::string_view routine);

struct Explanation {
  std::vector<StageText> stages;
  LoopProgram program;  // the optimized one: what "ll" shows
};

// The stages of `code`: cd, memory (which modes are asked for, and by whom),
// unoptimized and those of ExplainProgram. Errors: those of CompileProgram.
absl::StatusOr<Explanation> ExplainCode(const Assignments& code,
                                        const PassOptions& options);

// The program that the passes of `options` make of `code`, with a comment
// before the loops of each assignment that leads back to it; and that as text:
// "origins".
absl::StatusOr<LoopProgram> ProgramWithOrigins(const Assignments& code,
                                               const PassOptions& options);
absl::StatusOr<StageText> ExplainOrigins(const Assignments& code,
                                         const PassOptions& options);

// The program after each pass that changed it; "ll" is the last.
absl::StatusOr<Explanation> ExplainProgram(const LoopProgram& program,
                                           const PassOptions& options);

// Writes each stage to its file in `directory`, which is made if need be.
// Error: a file that can't be written, by name.
absl::Status WriteStages(absl::Span<const StageText> stages,
                         const std::string& directory);

}  // namespace ocannl

#endif  // OCANNL_CORE_EXPLAIN_H_
