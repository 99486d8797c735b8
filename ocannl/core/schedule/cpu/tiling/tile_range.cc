// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/tiling/tile_range.h"

#include "ocannl/core/index/division.h"

namespace ocannl {

std::vector<TileRange> BalancedTiles(int64_t extent, int64_t most) {
  const int64_t count = CeilDiv(extent, most);
  const int64_t size = CeilDiv(extent, count);
  const int64_t smaller = size * count - extent;
  std::vector<TileRange> ranges;
  if (count > smaller) ranges.push_back({0, count - smaller, size});
  if (smaller > 0) {
    ranges.push_back({(count - smaller) * size, smaller, size - 1});
  }
  return ranges;
}

std::vector<TileRange> TilesWithRemainder(int64_t extent, int64_t width) {
  std::vector<TileRange> ranges;
  if (extent >= width) ranges.push_back({0, extent / width, width});
  if (extent % width != 0) {
    ranges.push_back({extent / width * width, 1, extent % width});
  }
  return ranges;
}

}  // namespace ocannl
