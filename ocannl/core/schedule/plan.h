// SPDX-License-Identifier: Apache-2.0
//
// Plan: the tile sizes of a tensor contraction and what of it is packed.
//
//   y[b, o] += w[o, i] * x[b, i], 64 x 48 x 256
//     ->  contract: tiles of mr = 12 rows and nr = 48 columns, w packed
//
// The scheme is that of a packed matrix product (Goto and van de Geijn, Anatomy
// of High-Performance Matrix Multiplication, 2008; BLIS), for any einsum: a
// microkernel keeps mr x nr accumulators in registers while k runs; B is packed
// in panels of nr columns and kc steps that stay in L2. The sizes come from a
// cost model in closed form (tile_cost.h); nothing is searched by timing.
#ifndef OCANNL_CORE_SCHEDULE_PLAN_H_
#define OCANNL_CORE_SCHEDULE_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/core/schedule/tile_range.h"

namespace ocannl {

// The loops of the microkernel: n is vectorized, m and q are unrolled, and k is
// all reduced loops. B is the operand that depends on n, A that which depends
// on m. Where A depends on n as well, rows share no loads unless the tile has a
// second unrolled loop q, on which B depends and A does not. A narrow n has a q
// too: of adjacent products.
//
//   y[m, q, n] += a[m, k, n] * b[k, q, n]
struct ContractPlan {
  std::vector<NestLoop> outer;  // other output loops, in order
  std::optional<NestLoop> m;
  std::optional<NestLoop> q;
  NestLoop n;
  std::vector<TileRange> m_tiles;  // their size is mr; 1 where there is no m
  std::vector<TileRange> q_tiles;  // the same of q
  std::vector<TileRange> n_tiles;  // their size is nr, a panel of B
  // nc / nr: panels of B that stay in L2 while all tiles of m run. It divides
  // the number of panels. Where B is not packed and each k reads less than a
  // page of a longer row, the panels that take a page.
  int64_t panels_per_block = 1;
  // Of the outermost reduced loop; their size is kc: a panel of so many steps
  // stays in L2.
  std::vector<TileRange> k_blocks;
  // Loop order: k_blocks run inside of the outermost loop and outside of all
  // others, where a block holds what all tiles read of the operands.
  bool k_blocks_outside_tiles = false;
  int64_t unroll = 1;              // ku: iterations of the innermost k
  std::optional<Access> packed_b;  // B, where it is packed
  bool b_needs_transpose = false;  // n is not the unit-stride axis of B
  std::optional<Access> packed_a;  // A, where it is packed
  bool is_parallel = false;

  // Whether accumulators are stored to the target and loaded between blocks.
  bool has_k_blocks() const {
    return k_blocks.size() > 1 || k_blocks[0].count > 1;
  }
};

// Chooses a plan for a nest that accumulates numbers of at least 32 bits. Where
// no output loop has unit stride in the target, n is one lane.
ContractPlan PlanContract(const LoopProgram& program, const PerfectNest& nest,
                          const Target& target);

// A parallel loop has at least so many cycles of work, 4 us: less does not
// amortize waking the threads (`bazel run //experiments:bench -- --threads=2`).
inline constexpr double kMinParallelCycles = 16'000;

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_PLAN_H_
