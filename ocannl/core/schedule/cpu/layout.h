// SPDX-License-Identifier: Apache-2.0
//
// ChooseLayouts: data layout transformation of a temp that one contraction
// reads. Vectors of the contraction go over the axis that is last in the temp.
// If another axis fills more lanes, it becomes the last one. For a gradient
// with 6 channels, these are the columns of the image and not the channels.
// Nests that copy to the temp then transpose it.
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

// Changes the layouts. `nests` are those of the program's body. Returns whether
// a layout has changed: `nests` are then out of date. The rewrites are appended
// to `script` unless it is null. Error: that of a rewrite.
absl::StatusOr<bool> ChooseLayouts(LoopProgram& program,
                                   const std::vector<CanonicalNest>& nests,
                                   const Target& target,
                                   rewrite::Script* script);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_LAYOUT_H_
