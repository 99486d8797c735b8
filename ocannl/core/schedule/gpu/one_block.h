// SPDX-License-Identifier: Apache-2.0
//
// OneBlock: a small program as one block of a GPU, with its kernels as phases.
// The method is persistent threads (Gupta, Stuart and Owens, A study of
// persistent threads style GPU programming for GPGPU workloads, 2012). Such a
// block can run many steps without the host, and keeps temps in shared memory.
//
//   grid i0 { thread i1 { t[i0, i1] := x[i0, i1] * 2; } }
//   grid i2 { thread i3 { y[i2, i3] := t[i3, i2]; } }
//   ->
//   grid i4 = 0 to 0 {
//     for i0 { thread i1 { t[i0, i1] := x[i0, i1] * 2; } }
//     for i2 { thread i3 { y[i2, i3] := t[i3, i2]; } } }
#ifndef OCANNL_CORE_SCHEDULE_GPU_ONE_BLOCK_H_
#define OCANNL_CORE_SCHEDULE_GPU_ONE_BLOCK_H_

#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/gpu/target.h"

namespace ocannl::gpu {

// Verify accepts `program`. Error, ResourceExhausted: the block would need more
// shared memory or registers than there are, or one loop more than can be.
absl::StatusOr<LoopProgram> ScheduleOneBlock(const LoopProgram& program,
                                             const GpuTarget& target);

// How often statements of the block run; a zero_out counts as one for each
// cell.
double CountRuns(const LoopProgram& program, const Block& block);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_ONE_BLOCK_H_
