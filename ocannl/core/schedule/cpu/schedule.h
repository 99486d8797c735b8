// SPDX-License-Identifier: Apache-2.0
//
// Schedule: LoopProgram -> LoopProgram with tiles, lanes, copies and parallel
// loops, for one processor; the same bits.
//
//   Schedule(program, target)
//
// Nests are brought into one form (canonicalize.h). Then rewrites
// (rewrite/rewrite.h) do the rest. They collapse loops over adjacent axes
// (collapse.h), choose layouts of temps (layout.h), and fuse nests with the
// users of their results (fuse_nests.h). Then they schedule each nest:
// contractions as planned (plan.h, contract.h), maps (map.h), and rows
// (rows.h). All other statements stay. The result prints, parses and runs on
// the interpreter.
//
// Verify runs once, at the end. If it refuses, all is done again and verified
// step by step: a nest that a pass would break keeps its loops.
#ifndef OCANNL_CORE_SCHEDULE_CPU_SCHEDULE_H_
#define OCANNL_CORE_SCHEDULE_CPU_SCHEDULE_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/schedule/rewrite/legality.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

struct FusedProgram;  // fuse_nests.h

// The names of the passes, in the order in which they run. Each turns a valid
// program into a valid one that stores the same bits.
std::vector<absl::string_view> SchedulePasses();

struct ScheduleOptions {
  rewrite::Legality legality = rewrite::Legality::kProve;
  // Gets what the pass "fuse" makes: the nests, and how each is scheduled.
  FusedProgram* plan = nullptr;
  // Gets what the passes from "collapse" to "rewrite" do. As users could write
  // it (rewrite/print_script.h), run on the program after "canonicalize", it
  // gives that after "rewrite".
  rewrite::Script* script = nullptr;
  // Called with the program after each pass, which is verified then.
  std::function<void(absl::string_view pass, const LoopProgram& program)>
      observer = nullptr;
  absl::Span<const std::string> skip = {};  // names of passes to leave out
  // Gets the nests that a pass left as they were (refusal.h); null: there is
  // none, or the process ends.
  std::vector<Refusal>* refused = nullptr;
  // For tests of refusals: called with the program after each pass, of
  // "rewrite" with each nest, which is all of the body then. It may break what
  // the pass has made, or say that a rewrite was an error.
  std::function<absl::Status(absl::string_view pass, LoopProgram& program)>
      fault = nullptr;
};

// `program` must be one that Verify accepts, and so is the result. The result
// has the same buffers in the same order, but for temps and private ones; two
// axes of a buffer may have become one (collapse.h).
LoopProgram Schedule(const LoopProgram& program, const Target& target,
                     const ScheduleOptions& options = {});

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_SCHEDULE_H_
