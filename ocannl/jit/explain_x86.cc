// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/explain_x86.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/rewrite/print_script.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/jit/instruction_mix.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/vcode/text/print.h"
#include "ocannl/jit/x86_backend.h"

namespace ocannl::jit {
namespace {

// With comments on the nests that were refused.
LoopProgram Scheduled(const LoopProgram& program, Isa isa, Skip skip) {
  std::vector<Refusal> refused;
  LoopProgram scheduled =
      Schedule(program, TargetOf(isa), {.skip = skip, .refused = &refused});
  AddComments(refused, scheduled);
  return scheduled;
}

}  // namespace

StageText ExplainSchedule(const LoopProgram& program, Isa isa, Skip skip) {
  std::vector<Refusal> refused;  // comments tell of them
  LoopProgram scheduled =
      ScheduleFor(program, isa, {.skip = skip, .refused = &refused});
  NameNests(scheduled);
  return {.stage = "schedule",
          .file_name = absl::StrCat(scheduled.name, "-schedule.ll"),
          .text = Print(scheduled)};
}

std::vector<StageText> ExplainScheduling(const LoopProgram& program, Isa isa,
                                         Skip skip) {
  std::vector<StageText> stages;
  const std::string name = program.name;
  std::vector<Refusal> refused;
  auto add = [&](absl::string_view pass, const LoopProgram& after) {
    stages.push_back({.stage = std::string(pass),
                      .file_name = absl::StrCat(name, "-", pass, ".ll"),
                      .text = Print(after)});
  };
  Schedule(program, TargetOf(isa),
           {.observer = add, .skip = skip, .refused = &refused});
  return stages;
}

// Without the text of each pass: canonical nests have no locals, so that what
// they share is printed as often as it is used.
StageText ExplainScript(const LoopProgram& program, const LoopProgram& origins,
                        Isa isa, Skip skip) {
  rewrite::Script script;
  std::vector<Refusal> refused;
  const LoopProgram scheduled =
      Schedule(program, TargetOf(isa),
               {.script = &script, .skip = skip, .refused = &refused});
  return {.stage = "script",
          .file_name = absl::StrCat(program.name, ".rewrite"),
          .text = rewrite::Print(script, origins, SplitNests(scheduled.body))};
}

absl::StatusOr<std::vector<StageText>> ExplainVcode(const LoopProgram& program,
                                                    Isa isa, Skip skip) {
  LoopProgram scheduled = Scheduled(program, isa, skip);
  std::vector<StageText> stages;
  auto add = [&](absl::string_view stage, std::string text) {
    stages.push_back(
        {.stage = std::string(stage),
         .file_name = absl::StrCat(scheduled.name, "-", stage, ".vcode"),
         .text = std::move(text)});
  };
  const std::string head = absl::StrCat("; ", Name(isa), "\n");
  add("select", head);
  for (const VcodePass& pass : VcodePasses()) {
    if (!absl::c_linear_search(skip, pass.name)) add(pass.name, head);
  }
  OCANNL_RETURN_IF_ERROR(
      LowerToVcode(
          scheduled, SplitNests(scheduled.body), isa,
          [&](absl::string_view pass, const Nest& nest) {
            const auto stage = absl::c_find_if(
                stages, [&](const StageText& s) { return s.stage == pass; });
            absl::StrAppend(&stage->text, "nest\n", Print(scheduled, nest));
          },
          skip)
          .status());
  add("vcode", stages.back().text);
  return stages;
}

absl::StatusOr<StageText> ExplainX86(const LoopProgram& program, Isa isa,
                                     Skip skip) {
  LoopProgram scheduled = Scheduled(program, isa, skip);
  std::string file_name = absl::StrCat(scheduled.name, "-x86.s");
  OCANNL_ASSIGN_OR_RETURN(const std::string listing,
                          Listing(std::move(scheduled), isa, skip));
  return StageText{.stage = "x86",
                   .file_name = std::move(file_name),
                   .text = absl::StrCat("; ", Name(isa), "\n", listing)};
}

absl::StatusOr<StageText> ExplainInstructionMix(const LoopProgram& program,
                                                Isa isa, Skip skip) {
  OCANNL_ASSIGN_OR_RETURN(StageText mix, ExplainX86(program, isa, skip));
  mix.stage = "instruction_mix";
  mix.file_name = absl::StrCat(absl::StripSuffix(mix.file_name, ".s"), ".mix");
  mix.text = absl::StrCat("; ", Name(isa), "\n", InstructionMix(mix.text));
  return mix;
}

}  // namespace ocannl::jit
