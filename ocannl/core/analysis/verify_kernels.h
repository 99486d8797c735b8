// SPDX-License-Identifier: Apache-2.0
//
// VerifyKernels: that the loops of a GPU keep their promise, so that a GPU
// gives the bits of the loops run in order.
//
//   grid i0 = 0 to 9 {
//     thread i1 = 0 to 31 { y[i0, i1] := t[i1] + t[31 - i1]; }   legal
//     thread i2 = 0 to 31 { t[i2] := t[i2] + t[31 - i2]; }       a race
//   }
//
// Blocks are independent; so are the threads of a phase: what one writes no
// other touches before the next barrier. A race is an error here, on any
// machine.
#ifndef OCANNL_CORE_ANALYSIS_VERIFY_KERNELS_H_
#define OCANNL_CORE_ANALYSIS_VERIFY_KERNELS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::gpu {

// Verify accepts `program`. Error: two iterations of a `grid` or `thread` loop
// access one cell and one of them writes it; the message names both accesses.
// Also errors: more threads in a block than kMaxThreads; more shared memory
// than kMaxSharedBytes; accesses to private cells of another thread (phases.h).
absl::Status VerifyKernels(const LoopProgram& program);

// Of a block of every NVIDIA GPU (CUDA C++ Programming Guide, "Technical
// Specifications per Compute Capability").
inline constexpr int64_t kMaxThreads = 1024;
// Of a block of compute capability 9.0 (the same table).
inline constexpr int64_t kMaxSharedBytes = 227 * 1024;

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_ANALYSIS_VERIFY_KERNELS_H_
