// SPDX-License-Identifier: Apache-2.0
//
// PlanProduct: a product or convolution in tiles (Volkov and Demmel,
// Benchmarking GPUs to tune dense linear algebra, 2008). A block computes a
// tile of results, and each thread a small tile in registers. Shared memory has
// the operands' parts for a few steps, while those of the next steps are
// loaded.
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
// Each result still has its terms in order. Statements before and after the sum
// in the same loops run in the tile.
#ifndef OCANNL_CORE_SCHEDULE_GPU_PLAN_PRODUCT_H_
#define OCANNL_CORE_SCHEDULE_GPU_PLAN_PRODUCT_H_

#include <cstddef>

#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::gpu {

// Whether the statement `at` of the body is a kernel of that form now; what its
// tiles leave over stands behind it. Else it is as it was. If it `cuts` not,
// all tiles are full.
bool PlanProduct(rewrite::Rewriter& rewriter, size_t at,
                 const GpuTarget& target, bool cuts);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_PLAN_PRODUCT_H_
