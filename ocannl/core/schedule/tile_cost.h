// SPDX-License-Identifier: Apache-2.0
//
// TileCost: how long the tiles of a contraction take, in cycles.
//
//   TileCost cost(program, nest, target, {.m = m, .q = q, .n = n});
//   double cycles = cost.Cycles(rows, layers, columns);
#ifndef OCANNL_CORE_SCHEDULE_TILE_COST_H_
#define OCANNL_CORE_SCHEDULE_TILE_COST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/nest.h"
#include "ocannl/core/schedule/segment.h"
#include "ocannl/core/schedule/target.h"

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

  // Of all tiles of those sizes, with all their steps.
  double Cycles(const std::vector<Segment>& rows,
                const std::vector<Segment>& layers,
                const std::vector<Segment>& columns) const;

 private:
  // Of one step of a tile; `vectors` a row and layer.
  double StepCycles(int64_t rows, int64_t layers, int64_t vectors) const;

  // Whether the lines that a step reads for `rows` rows are still in the first
  // cache when the next step reads on in them.
  bool StaysNear(const Access& read, int64_t rows) const;

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
