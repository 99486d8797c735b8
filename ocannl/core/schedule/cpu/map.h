// SPDX-License-Identifier: Apache-2.0
//
// ScheduleMap: elementwise assignments, strip-mined and vectorized along the
// axis of unit stride, or transposed in registers where an operand has another
// one; ScheduleScatter: the same for rows that are scattered.
//
//   for i1 { for i2 = 0 to 99 { y[i1, i2] := x[i1, i2] * 2; } }
//     ->  for i1 { vec i2 = 0 to 63 { ... }  vec i3 = 0 to 35 { ... } }
#ifndef OCANNL_CORE_SCHEDULE_CPU_MAP_H_
#define OCANNL_CORE_SCHEDULE_CPU_MAP_H_

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// Schedules the output loops of `nest`, which has no others, but one for the
// lanes (FindLaneLoop) and no unit loops; its set and the `epilogues` stand in
// them.
absl::Status ScheduleMap(NestRewriter& rewriter, const PerfectNest& nest,
                         absl::Span<const Set> epilogues, const Target& target);

// Strip-mines the last loop of the nest, which has no unit loops: strips
// outside, the other loops, and lanes inside.
absl::Status ScheduleScatter(NestRewriter& rewriter, const ScatterNest& nest,
                             const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_MAP_H_
