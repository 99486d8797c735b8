// SPDX-License-Identifier: Apache-2.0
//
// The stages of a program on the x86 tier as text, for any instruction set:
//
//   "canonicalize", "fuse" ...        the program after that pass of Schedule
//   "script"           p.rewrite      what the passes after "canonicalize" do
//   "schedule"         p-schedule.ll  the program after all
//   "select", "fold"   p-fold.vcode   its VCode after that pass
//   "vcode"            p-vcode.vcode  and after all
//   "x86"              p-x86.s        its machine code
//   "instruction_mix"  p-x86.mix      how many of which instruction a loop has
#ifndef OCANNL_JIT_EXPLAIN_X86_H_
#define OCANNL_JIT_EXPLAIN_X86_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/explain.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// The names of passes of the schedule and over VCode that are left out.
using Skip = absl::Span<const std::string>;

// `program` must be one that Verify accepts. A comment in the text names the
// instruction set. Errors are those of Assemble.
StageText ExplainSchedule(const LoopProgram& program, Isa isa, Skip skip = {});
// After each of its passes.
std::vector<StageText> ExplainScheduling(const LoopProgram& program, Isa isa,
                                         Skip skip = {});
// `origins` is the program with comments, which tell where its nests come from.
StageText ExplainScript(const LoopProgram& program, const LoopProgram& origins,
                        Isa isa, Skip skip = {});
// After each pass, and in the end.
absl::StatusOr<std::vector<StageText>> ExplainVcode(const LoopProgram& program,
                                                    Isa isa, Skip skip = {});
absl::StatusOr<StageText> ExplainX86(const LoopProgram& program, Isa isa,
                                     Skip skip = {});
absl::StatusOr<StageText> ExplainInstructionMix(const LoopProgram& program,
                                                Isa isa, Skip skip = {});

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_EXPLAIN_X86_H_
