// SPDX-License-Identifier: Apache-2.0
//
// Vectorized memory access: a thread of a GPU reads or writes the adjacent
// cells of a `vec` loop at once, up to 16 bytes. See CUDA C++ Best Practices
// Guide, "Coalesced Access to Global Memory"; PTX: ld.v4.
//
//   vec i2 = 0 to 3 { y[4*i1 + i2] := x[4*i1 + i2] + b[]; }
//
// reads four cells of x at once and writes four of y, and b[] as it is.
#ifndef OCANNL_CORE_SCHEDULE_GPU_VECTOR_ACCESS_H_
#define OCANNL_CORE_SCHEDULE_GPU_VECTOR_ACCESS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/loop/loop.h"

namespace ocannl::gpu {

inline constexpr int64_t kMostVectorBytes = 16;

// Cells of private buffers, which may be registers, are in none of these.
struct VectorAccesses {
  std::vector<Access> reads;
  std::vector<Access> writes;
  // Whether all others are of one cell in all iterations.
  bool is_all = true;
};

// The accesses that may be made at once, before and after the loop, whose
// iterations may run as lanes. Null if there are none, if the loop writes cells
// in another way, or if two of them may access one cell and one writes it.
std::optional<VectorAccesses> FindVectorAccesses(const LoopProgram& program,
                                                 const For& loop);

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_VECTOR_ACCESS_H_
