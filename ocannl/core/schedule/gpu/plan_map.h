// SPDX-License-Identifier: Apache-2.0
//
// PlanMap: perfectly nested parallel loops as blocks of threads.
//
//   1000 rows of 3 columns    blocks of 83 rows and 3 columns: 249 threads; the
//                             last 4 rows apart
//   3 rows of 1000 columns    blocks of a row and 250 columns
//
// What is in the loops is done by one thread, in order: one that sums has a
// cell of the result.
#ifndef OCANNL_CORE_SCHEDULE_GPU_PLAN_MAP_H_
#define OCANNL_CORE_SCHEDULE_GPU_PLAN_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::gpu {

// Cuts loops[which] at `at`, and all loops around it, so that there are two
// nests. Error: a dependence, or so it seems.
absl::Status CutNest(rewrite::Rewriter& rewriter,
                     const std::vector<NestLoop>& loops, size_t which,
                     int64_t at);

// Makes blocks and threads of `loops`, one or more, the outermost loops of the
// statement `at` of the body. If it `cuts`, the remainder of the full blocks
// becomes the next statement. Error: that of a rewrite; the script is half
// done.
absl::Status PlanMap(rewrite::Rewriter& rewriter, size_t at,
                     const std::vector<NestLoop>& loops,
                     const GpuTarget& target, bool cuts);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_PLAN_MAP_H_
