// SPDX-License-Identifier: Apache-2.0
//
// ChooseLayouts: a temp that one contraction reads gets the axis last along
// which more lanes of that are filled than along the last axis of its result:
// of a gradient with 6 channels the columns of the image, not the channels.
// Nests that copy to the temp transpose it then.
//
//   y[i0, i1, i3] += t[i0, i1 - i5 + 4, i4] * w[i4, i5, i3]    14 x 6 cells
//     ->   t[i0, i4, i1 - i5 + 4], with 14 lanes along i1
#ifndef OCANNL_CORE_SCHEDULE_CPU_LAYOUT_H_
#define OCANNL_CORE_SCHEDULE_CPU_LAYOUT_H_

#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/nests/canonicalize.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// Whether it changed one: then `nests`, those of the program's body, are out of
// date. The script, if there is one, gets the rewrites. Error: that of a
// rewrite.
absl::StatusOr<bool> ChooseLayouts(LoopProgram& program,
                                   const std::vector<CanonicalNest>& nests,
                                   const Target& target,
                                   rewrite::Script* script);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_LAYOUT_H_
