// SPDX-License-Identifier: Apache-2.0
//
// PlanRows: one kernel for reductions in lanes along rows and for the other
// statements on each row. A block computes a row, and its threads are the lanes
// (cross-thread reduction; fused as in softmax and layer norm kernels by hand).
//
//   for i0 { vec i1 { t[i1] := ...; } ... n[i0] := t[0];
//            for i2 { e[i0, i2] := x[i0, i2] - n[i0]; } }
//   ->
//   grid i0 { thread i6 { unroll i5 { r[i6, i5] := x[i0, 64*i5 + i6]; } }
//             thread i1 { t[i1] := ...; } ... thread i3 { n[i0] := t[0]; }
//             thread i4 { unroll i2 { e[i0, 64*i2 + i4] := r[i4, i2] - ...; } }
//           }
//
// Adjacent threads read adjacent cells. If several phases read a row, each
// thread keeps its cells of the row in registers (r).
#ifndef OCANNL_CORE_SCHEDULE_GPU_PLAN_ROWS_H_
#define OCANNL_CORE_SCHEDULE_GPU_PLAN_ROWS_H_

#include <cstddef>

#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::gpu {

// The number of outer loops over rows in the statement `at` of the body. In
// each row, most of the work is in the lanes of reductions. 0 if there is none.
size_t RowLoops(const LoopProgram& program, size_t at, const GpuTarget& target);

// Whether rows, of these loops of the statement `at`, are so short that threads
// have one in registers.
bool HasShortRows(const LoopProgram& program, size_t at, size_t rows);

// Whether threads of a block can do the work of statement `at` on each row of
// its first `rows` loops. They can do a reduction in lanes, a map of the row,
// or a few cells.
bool IsOfRows(const LoopProgram& program, size_t at, size_t rows,
              const GpuTarget& target);

// Makes blocks of the first `rows` loops of the statement `at` of the body, in
// which there is a reduction in lanes. Error: it cannot; the program is lost.
absl::Status PlanRows(rewrite::Rewriter& rewriter, size_t at, size_t rows,
                      const GpuTarget& target);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_PLAN_ROWS_H_
