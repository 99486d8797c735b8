// SPDX-License-Identifier: Apache-2.0
//
// Schedule: LoopProgram -> LoopProgram with tiles, lanes, copies and parallel
// loops, for one processor; the same bits.
//
//   Schedule(program, kAvx512Target)
//
// Loops over adjacent axes are collapsed (collapse.h), nests are fused with
// those that use their result (fuse_nests.h), and each is rewritten
// (rewrite/rewrite.h): contractions as planned (plan.h, contract.h), and maps
// (map.h). Anything else stays. The result prints, parses and runs on the
// interpreter.
#ifndef OCANNL_CORE_SCHEDULE_SCHEDULE_H_
#define OCANNL_CORE_SCHEDULE_SCHEDULE_H_

#include <string>

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/decisions.h"
#include "ocannl/core/schedule/rewrite/legality.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// How the nests were rewritten, as a script that users could give
// (rewrite/script.h): RunScript(fused, script) gives `rewritten`. What is left
// to do is to transpose row reductions (row_blocks.h), to eliminate stores that
// nothing reads, and common subexpressions where the program had locals.
struct ScheduleScript {
  LoopProgram fused;
  std::string script;
  LoopProgram rewritten;
};

struct ScheduleOptions {
  rewrite::Legality legality = rewrite::Legality::kProve;
  Decisions* taken = nullptr;  // gets what is done
  ScheduleScript* script = nullptr;
};

// `program` must be one that Verify accepts, and so is the result. The result
// has the same buffers in the same order, but for temps and private ones; two
// axes of a buffer may have become one (collapse.h).
LoopProgram Schedule(LoopProgram program, const Target& target,
                     const ScheduleOptions& options = {});

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_SCHEDULE_H_
