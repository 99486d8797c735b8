// SPDX-License-Identifier: Apache-2.0
//
// Rewrites: loop transformations, one legal step at a time. The scheduler's
// plans and schedules by hand consist of them.
//
//   Split(program, i3, 16)        strip mining: i3 over strips of i4
//   Reorder(program, {i3, i1})    interchange
//   Vectorize(program, i4)
//
// Each gives the program the same bits, except that SplitReduce sums in another
// order. On an error, which names the dependence, the program is unchanged but
// for unused expressions in its pools. The program must be one that Verify
// accepts, or the result of rewrites.
//
// Callers check the last result with Verify and gpu::VerifyKernels, as
// RunScript does, which reads rewrites from text (script.h). Planners call them
// by a Rewriter, which tells the new loops (rewriter.h). A loop is named by its
// iterator. New iterators are fresh, in the order in which rewrites.def names
// them. If one loop of a nest is not a `for`, Schedule leaves the nest as it
// is, and plans all others.
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/rewrite/legality.h"

namespace ocannl {
struct NestLoop;  // analysis/nest.h
}

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

// What `stmt`, a zero_out or loops around an assignment without lookups, stores
// in the `cell` as in each one of its buffer, which it does not read; nullopt:
// it does something else.
std::optional<ExprId> InitialValue(LoopProgram& program, const Stmt& stmt,
                                   const Access& cell);

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_REWRITE_H_
