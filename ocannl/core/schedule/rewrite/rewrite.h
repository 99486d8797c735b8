// SPDX-License-Identifier: Apache-2.0
//
// Rewrites: loop transformations, one legal step at a time, of which the
// scheduler's plans and schedules by hand are made.
//
//   Split(program, i3, 16)        strip mining: i3 over strips of i4
//   Reorder(program, {i3, i1})    interchange
//   Vectorize(program, i4)
//
// Each gives the program the same bits, SplitReduce sums in another order; or
// an error that names the dependence, with the program as it was but for unused
// expressions in its pools. The program is one that Verify accepts, or that
// rewrites gave.
// Whoever calls them checks what the last one gave with Verify and
// gpu::VerifyKernels, as RunScript (script.h) does, which reads rewrites from
// text. A loop is named by its iterator.
// New iterators are the next ones, in the order in which rewrites.def names
// them. A nest stays as it is made once one of its loops is not a `for`:
// Schedule plans all others.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_

#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/legality.h"

namespace ocannl::rewrite {

// Each function of rewrites.def, which says what they do.
#define REWRITE(function, parameters, ...) absl::Status function parameters;
#include "ocannl/core/schedule/rewrite/rewrites.def"
#undef REWRITE

// Collapse of several pairs, of other loops each, in the time of one.
using LoopPair = std::pair<IteratorId, IteratorId>;  // outer, inner
absl::Status CollapsePairs(LoopProgram& program,
                           absl::Span<const LoopPair> pairs);

// Whether `loops`, in bounds, visit each cell of a buffer as `cell` once, so
// that Verify sees it: boxes, not y[20*i1 + i2].
bool CoversBuffer(const LoopProgram& program, const Access& cell,
                  absl::Span<const NestLoop> loops);

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_
