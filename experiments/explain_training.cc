// SPDX-License-Identifier: Apache-2.0
#include "experiments/explain_training.h"

#include <iostream>
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/explain.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/jit/explain_x86.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl {
namespace {

// What the x86 tier makes of a program.
std::vector<StageText> X86Stages(const LoopProgram& program) {
  const jit::Isa isa = jit::HostIsa().value_or(jit::Isa::kAvx2);
  return {jit::ExplainSchedule(program, isa), jit::ExplainX86(program, isa)};
}

}  // namespace

absl::Status ExplainStep(const train::Model& model, const Assignments& step,
                         const std::string& directory) {
  OCANNL_ASSIGN_OR_RETURN(Explanation explanation, ExplainCode(step, {}));
  std::vector<StageText>& stages = explanation.stages;
  stages.push_back(ExplainShapes(model.graph, model.shapes, step.name));
  absl::c_move(X86Stages(explanation.program), std::back_inserter(stages));
  OCANNL_RETURN_IF_ERROR(WriteStages(stages, directory));
  std::cout << "The stages of the step are in " << directory << "\n";
  return absl::OkStatus();
}

absl::Status ExplainTraces(const Stream& stream, const std::string& directory) {
  for (const LoopProgram* program : stream.Programs()) {
    std::vector<StageText> stages = X86Stages(*program);
    stages.push_back({.stage = "ll",
                      .file_name = program->name + ".ll",
                      .text = Print(*program)});
    OCANNL_RETURN_IF_ERROR(WriteStages(stages, directory));
    std::cout << "The stages of " << program->name << " are in " << directory
              << "\n";
  }
  return absl::OkStatus();
}

}  // namespace ocannl
