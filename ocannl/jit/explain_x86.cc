// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/explain_x86.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/schedule.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/jit/instruction_mix.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl::jit {

StageText ExplainSchedule(LoopProgram program, Isa isa) {
  LoopProgram scheduled = Schedule(std::move(program), TargetOf(isa));
  std::vector<Stmt>& stmts = scheduled.body.stmts;
  stmts.insert(stmts.begin(),
               Comment{absl::StrCat("scheduled for ", Name(isa))});
  return {.stage = "schedule",
          .file_name = absl::StrCat(scheduled.name, "-schedule.ll"),
          .text = Print(scheduled)};
}

StageText ExplainX86(LoopProgram program, Isa isa) {
  LoopProgram scheduled = Schedule(std::move(program), TargetOf(isa));
  std::string file_name = absl::StrCat(scheduled.name, "-x86.s");
  return {.stage = "x86",
          .file_name = std::move(file_name),
          .text = absl::StrCat("; ", Name(isa), "\n",
                               Listing(std::move(scheduled), isa))};
}

StageText ExplainInstructionMix(LoopProgram program, Isa isa) {
  StageText mix = ExplainX86(std::move(program), isa);
  mix.stage = "instruction_mix";
  mix.file_name = absl::StrCat(absl::StripSuffix(mix.file_name, ".s"), ".mix");
  mix.text = absl::StrCat("; ", Name(isa), "\n", InstructionMix(mix.text));
  return mix;
}

}  // namespace ocannl::jit
