// SPDX-License-Identifier: Apache-2.0
//
// TileLoops: which output loops of a contraction make its tiles.
//
//   y[m, q, n] += a[m, k, n] * b[k, q, n]
//
// n is vectorized, m and q are unrolled, and k is all reduced loops. The
// operand B depends on n, and A depends on m. If A depends on n as well, rows
// share no loads unless the tile has a second unrolled loop q, on which only B
// depends. A narrow n has a q too: of adjacent products. q runs over the taps
// of a convolution's weight gradient, y[m, q, n] += a[k, m] * b[k + q, n]: they
// share loads where k is unrolled. Short m and n have as q a loop on which B
// does not depend, so that there are enough accumulators.
#ifndef OCANNL_CORE_SCHEDULE_CPU_TILING_TILE_LOOPS_H_
#define OCANNL_CORE_SCHEDULE_CPU_TILING_TILE_LOOPS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/schedule/target.h"

namespace ocannl {

struct TileLoops {
  // Other output loops in order, but those first on which all operands depend.
  std::vector<NestLoop> outer;
  std::optional<NestLoop> m;
  std::optional<NestLoop> q;
  NestLoop n;
};

// Whether lanes along a loop of `extent` iterations beat those along a loop of
// `few`, which has unit stride in the target: they fill twice as much of their
// vectors, and the reduction is long enough for strided stores.
bool AreBetterLanes(const PerfectNest& nest, int64_t extent, int64_t few,
                    int64_t lanes);

// `operands` are OperandsOf(program, nest). Where no output loop has unit
// stride in the target, n is one lane.
TileLoops ChooseTileLoops(const LoopProgram& program, const PerfectNest& nest,
                          absl::Span<const Access> operands,
                          const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_TILING_TILE_LOOPS_H_
