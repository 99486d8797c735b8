// SPDX-License-Identifier: Apache-2.0
//
// TileRange: a run of adjacent tiles of equal size, into which a loop is tiled.
#ifndef OCANNL_CORE_SCHEDULE_CPU_TILING_TILE_RANGE_H_
#define OCANNL_CORE_SCHEDULE_CPU_TILING_TILE_RANGE_H_

#include <cstdint>
#include <vector>

namespace ocannl {

struct TileRange {
  int64_t first;  // iteration where they begin
  int64_t count;  // tiles
  int64_t size;   // iterations of each
};

// Balanced tiling: tiles of at most `most` iterations, whose sizes differ by at
// most one.
std::vector<TileRange> BalancedTiles(int64_t extent, int64_t most);

// Tiles of `width` iterations and one for the remainder.
std::vector<TileRange> TilesWithRemainder(int64_t extent, int64_t width);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_TILING_TILE_RANGE_H_
