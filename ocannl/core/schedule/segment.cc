// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/segment.h"

#include "ocannl/core/index/division.h"

namespace ocannl {

std::vector<Segment> Equalize(int64_t extent, int64_t most) {
  const int64_t count = CeilDiv(extent, most);
  const int64_t size = CeilDiv(extent, count);
  const int64_t smaller = size * count - extent;
  std::vector<Segment> segments;
  if (count > smaller) segments.push_back({0, count - smaller, size});
  if (smaller > 0) {
    segments.push_back({(count - smaller) * size, smaller, size - 1});
  }
  return segments;
}

std::vector<Segment> Pieces(int64_t extent, int64_t width) {
  std::vector<Segment> segments;
  if (extent >= width) segments.push_back({0, extent / width, width});
  if (extent % width != 0) {
    segments.push_back({extent / width * width, 1, extent % width});
  }
  return segments;
}

}  // namespace ocannl
