// SPDX-License-Identifier: Apache-2.0
//
// ScheduleGpu: LoopProgram -> LoopProgram whose parallel loops are blocks and
// threads of a GPU; the same bits.
//
//   for i0 = 0 to 9 { for i1 = 0 to 99 { y[i0, i1] := ...; } }
//   ->
//   grid i0 = 0 to 9 {
//     for i2 = 0 to 2 { thread i3 = 0 to 31 { y[i0, 32*i2 + i3] := ...; } }
//     thread i4 = 0 to 3 { y[i0, i4 + 96] := ...; }
//   }
//
// Of each statement of the body, the perfectly nested parallel loops from the
// outermost one on (dependence.h): the last is strip-mined into threads, those
// around it are blocks. What has none stays, and runs in one thread.
#ifndef OCANNL_CORE_SCHEDULE_GPU_SCHEDULE_GPU_H_
#define OCANNL_CORE_SCHEDULE_GPU_SCHEDULE_GPU_H_

#include <cstdint>

#include "ocannl/core/loop/loop.h"

namespace ocannl::gpu {

struct GpuTarget {
  int64_t threads;  // the most of a block
};

// Small programs have many blocks and strips on it.
inline constexpr GpuTarget kTinyGpu{.threads = 8};
// Compute capability 9.0. So many threads are usual; no GPU has measured them.
inline constexpr GpuTarget kSm90{.threads = 256};

// Verify accepts `program`, and Verify and VerifyKernels accept the result. It
// has the same buffers in the same order, and then more private ones. A nest
// that has a `grid` loop stays as it is.
LoopProgram ScheduleGpu(LoopProgram program, const GpuTarget& target);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_SCHEDULE_GPU_H_
