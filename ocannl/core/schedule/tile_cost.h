// SPDX-License-Identifier: Apache-2.0
//
// TileCost: cycles of the tiles of a contraction, in closed form. A roofline of
// the microkernel: the largest of its product, load and latency bounds, with
// penalties for loads that miss L1 (Williams, Waterman and Patterson 2009).
//
//   TileCost cost(program, nest, target, {.m = m, .q = q, .n = n});
//   double cycles = cost.Cycles(m_tiles, q_tiles, n_tiles);
#ifndef OCANNL_CORE_SCHEDULE_TILE_COST_H_
#define OCANNL_CORE_SCHEDULE_TILE_COST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/target.h"
#include "ocannl/core/schedule/tile_range.h"

namespace ocannl {

// The loops of a tile (plan.h).
struct TileLoops {
  std::optional<NestLoop> m;
  std::optional<NestLoop> q;
  NestLoop n;
};

class TileCost {
 public:
  // The program and the target must outlive it.
  TileCost(const LoopProgram& program, const PerfectNest& nest,
           const Target& target, TileLoops loops);

  // Of all tiles of those sizes, with all iterations of k.
  double Cycles(const std::vector<TileRange>& m_tiles,
                const std::vector<TileRange>& q_tiles,
                const std::vector<TileRange>& n_tiles) const;

 private:
  // Of one iteration of k of a tile of mr x qr x `vectors` accumulators.
  double StepCycles(int64_t mr, int64_t qr, int64_t vectors) const;

  // Whether the lines of `mr` rows that one iteration of k reads are still in
  // L1 when the next one reads on in them.
  bool FitsInL1(const Access& read, int64_t mr) const;

  int64_t Stride(const Access& access, const NestLoop& loop) const;

  const LoopProgram& program_;
  const Target& target_;
  TileLoops loops_;
  std::vector<Access> reads_;  // operands
  double steps_;               // iterations of all reduced loops
  int64_t lanes_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_TILE_COST_H_
