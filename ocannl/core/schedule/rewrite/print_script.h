// SPDX-License-Identifier: Apache-2.0
//
// Print: the script of a schedule as a user would write it (script.h).
//
//   # nest-0
//   # 9: n2 =:+ x * w ~logic:"i, k; k, j => i, j", net.cc:7
//   # m = i0, n = i1, k = i2
//   n_lane = split i1 16
//   k_block, k_tail = split i2 8
//   reorder i0 i1 i2 k_block n_lane
//   vectorize n_lane
//
// Loops that rewrites make have names, so that a size can be changed without a
// change of other lines. The names are of what the loops are: n goes over the
// last axis of the result, m over the one before it, b over the others, and k
// over what is reduced. Then follow words of rewrites.def, or `lane` and
// `thread` where a tile becomes these, `block` for tiles together and for a
// tile of k, and `step` for a tile of that.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_PRINT_SCRIPT_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_PRINT_SCRIPT_H_

#include <string>

#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::rewrite {

// `program` has the loops to which the script was applied, perhaps in another
// form. The comments before a nest stand above its lines, as those that tell of
// its assignments (WithOrigins of cd/print.h). The first comment has the names
// of what became of the nest in `scheduled`, if that is not empty: its nests as
// SplitNests numbers them.
std::string Print(const Script& script, const LoopProgram& program,
                  absl::Span<const Block> scheduled = {});

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_PRINT_SCRIPT_H_
