// SPDX-License-Identifier: Apache-2.0
//
// PlanProduct: a product or convolution in tiles (Volkov and Demmel,
// Benchmarking GPUs to tune dense linear algebra, 2008): a block computes a
// tile of results, a thread a small one in registers; the operands' parts of a
// few steps are in shared memory, and those of the next ones on their way.
//
//   for i1 { for i2 { for i3 { y[i1, i2] := fma(a[i1, i3], b[i3, i2], ...
//   ->
//   grid i1 { grid i2 {
//     for i3 {
//       thread { staged[...] := a[...]; }   thread { staged_2[...] := b[...]; }
//       thread { thread { for { unroll { unroll { acc[...] := fma(...); } } } }
//       }
//     }
//     thread { thread { unroll { unroll { y[...] := acc[...]; } } } } } }
//
// Each result still has its terms in order. What stands before and behind the
// sum in the same loops is done in the tile.
#ifndef OCANNL_CORE_SCHEDULE_GPU_PLAN_PRODUCT_H_
#define OCANNL_CORE_SCHEDULE_GPU_PLAN_PRODUCT_H_

#include <cstddef>

#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/rewrite/script.h"

namespace ocannl::gpu {

// Whether the statement `at` of the body is a kernel of that form now; what its
// tiles leave over stands behind it. Else it is as it was. If it `cuts` not,
// all tiles are full.
bool PlanProduct(rewrite::ScriptRunner& script, size_t at,
                 const GpuTarget& target, bool cuts);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_PLAN_PRODUCT_H_
