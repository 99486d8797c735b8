// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/explain_training.h"

#include <iostream>
#include <utility>

#include "ocannl/cli/explain_flag.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/explain.h"
#include "ocannl/core/loop/print.h"

namespace ocannl {

std::function<absl::Status(const train::Model& model, const Assignments& step)>
Explainer(const CommandLine& line) {
  if (!line.Has("explain")) return nullptr;
  return [&line](const train::Model& model,
                 const Assignments& step) -> absl::Status {
    OCANNL_ASSIGN_OR_RETURN(Explanation explanation, ExplainCode(step, {}));
    explanation.stages.push_back(
        ExplainShapes(model.graph, model.shapes, step.name));
    return WriteExplained(line, std::move(explanation), std::cout);
  };
}

absl::Status ExplainTraces(const CommandLine& line, const Stream& stream) {
  if (!line.Has("explain")) return absl::OkStatus();
  for (const LoopProgram* program : stream.Programs()) {
    OCANNL_RETURN_IF_ERROR(
        WriteExplained(line,
                       {.stages = {{.stage = "ll",
                                    .file_name = program->name + ".ll",
                                    .text = Print(*program)}},
                        .program = *program},
                       std::cout));
  }
  return absl::OkStatus();
}

}  // namespace ocannl
