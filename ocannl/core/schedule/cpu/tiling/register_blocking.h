// SPDX-License-Identifier: Apache-2.0
//
// Register blocking: the size of the microkernel, mr x qr x nr accumulators
// that stay in registers while k runs, and ku, the unroll factor of k. Of all
// sizes that fit, it is the one of the fewest cycles. A roofline predicts the
// cycles in closed form: the largest of the product, load and latency bounds,
// with penalties for loads that miss L1 (Williams, Waterman and Patterson
// 2009).
//
//   512 x 512 x 512 on AVX-512   ->   mr = 12, nr = 32, ku = 8
#ifndef OCANNL_CORE_SCHEDULE_CPU_TILING_REGISTER_BLOCKING_H_
#define OCANNL_CORE_SCHEDULE_CPU_TILING_REGISTER_BLOCKING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ocannl/core/schedule/cpu/tiling/shape.h"
#include "ocannl/core/schedule/cpu/tiling/tile_range.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

// The greatest ku of a loop that is not unrolled whole, unless the product is
// one of a matrix and a vector.
inline constexpr int64_t kMaxUnroll = 8;

struct RegisterBlocks {
  std::vector<TileRange> m = {};  // their size is mr
  std::vector<TileRange> q = {};  // qr
  std::vector<TileRange> n = {};  // nr
  int64_t unroll = 1;             // ku
  // Reduced loops that are unrolled whole, but the last: those around it.
  size_t whole_loops = 0;
  double cycles = 0;  // of all tiles
};

RegisterBlocks BlockForRegisters(const ContractShape& shape,
                                 const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_TILING_REGISTER_BLOCKING_H_
