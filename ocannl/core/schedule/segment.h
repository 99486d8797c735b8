// SPDX-License-Identifier: Apache-2.0
//
// Segment: pieces of equal size side by side, of which a loop is cut.
#ifndef OCANNL_CORE_SCHEDULE_SEGMENT_H_
#define OCANNL_CORE_SCHEDULE_SEGMENT_H_

#include <cstdint>
#include <vector>

namespace ocannl {

struct Segment {
  int64_t first;  // index where they begin
  int64_t count;
  int64_t size;
};

// Sizes of `extent` in tiles of at most `most` that differ by at most one.
std::vector<Segment> Equalize(int64_t extent, int64_t most);

// Pieces of `width`, and one for the rest.
std::vector<Segment> Pieces(int64_t extent, int64_t width);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_SEGMENT_H_
