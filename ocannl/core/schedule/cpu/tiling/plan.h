// SPDX-License-Identifier: Apache-2.0
//
// Plan: the tile sizes of a tensor contraction and what of it is packed.
//
//   y[m, n] += a[m, k] * b[k, n], 513 x 512 x 514, on AVX-512
//     ->  tiles of mr = 12 rows and nr = 32 columns, b packed
//
// The scheme is that of a packed matrix product (Goto and van de Geijn, Anatomy
// of High-Performance Matrix Multiplication, 2008; BLIS), for any einsum. A
// microkernel keeps mr x nr accumulators in registers while k runs. B is packed
// in panels of nr columns and kc steps that stay in L2. First the loops of a
// tile are chosen (tile_loops.h), then the sizes, by functions of extents,
// strides and target (shape.h): register_blocking.h, then cache_blocking.h.
#ifndef OCANNL_CORE_SCHEDULE_CPU_TILING_PLAN_H_
#define OCANNL_CORE_SCHEDULE_CPU_TILING_PLAN_H_

#include <optional>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/cpu/tiling/cache_blocking.h"
#include "ocannl/core/schedule/cpu/tiling/register_blocking.h"
#include "ocannl/core/schedule/cpu/tiling/tile_loops.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

struct ContractPlan {
  TileLoops loops;
  RegisterBlocks tiles;
  CacheBlocks blocks;
  std::optional<Access> packed_a, packed_b;  // those of the blocks
  bool b_needs_transpose = false;  // n is not the unit-stride axis of B
  bool is_parallel = false;
  // The loop over blocks of a cascaded sum (assign/sums/cascade.h), whose
  // partial sums an epilogue adds to the result: not of the nest that is
  // planned.
  std::optional<NestLoop> cascade = std::nullopt;

  // Whether accumulators are stored to the target and loaded between blocks.
  bool has_k_blocks() const {
    return blocks.k.size() > 1 || blocks.k[0].count > 1;
  }
};

// Chooses a plan for a nest that accumulates numbers of at least 32 bits.
ContractPlan PlanContract(const LoopProgram& program, const PerfectNest& nest,
                          const Target& target);

// A parallel loop has at least so many cycles of work, 4 us: less does not
// amortize waking the threads (`bazel run //experiments:bench -- --threads=2`).
inline constexpr double kMinParallelCycles = 16'000;

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_TILING_PLAN_H_
