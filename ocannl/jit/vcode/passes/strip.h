// SPDX-License-Identifier: Apache-2.0
//
// Strip: what the loops inside of a loop read by one pointer before that loop
// increments it, as for (i) { for (k) { w[i, k], w[i + 1, k], ... } } does:
// rows, each in order.
#ifndef OCANNL_JIT_VCODE_PASSES_STRIP_H_
#define OCANNL_JIT_VCODE_PASSES_STRIP_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/index/affine.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

inline constexpr int32_t kLine = 64;  // bytes of a cache line

// The lines of so many bytes.
inline int64_t LinesOf(int64_t bytes) { return (bytes + kLine - 1) / kLine; }

// Contiguous bytes.
struct Part {
  int64_t begin, end;  // in bytes from a pointer

  int64_t size() const { return end - begin; }
  friend auto operator<=>(const Part&, const Part&) = default;
};

struct Rows {
  int64_t count = 0;
  int64_t distance = 0;  // in bytes, from one to the next
  int64_t bytes = 0;     // of each
};

struct Strip {
  int32_t pointer;
  Affine value;             // of the pointer, but for the loops inside
  std::vector<Part> parts;  // of the rows, which an iteration reads
  int64_t part_bytes = 0;   // of them all
  int64_t iterations = 1;   // each reads the next parts
  size_t row_loop = 0;      // the outermost loop of these iterations, as opened
  int64_t runs = 1;         // of it, each of which reads the strip
  int64_t repeats = 1;      // how often it is read before caches lose it
  int64_t bytes = 0;        // to the next strip
  size_t loop = 0;          // where the loop of the strips begins
  Rows rows = {};           // all of them, of a strip that is packed
};

// What `body` reads by the pointer, in order; none if it skips bytes within a
// vector.
std::vector<Part> PartsRead(absl::Span<const Inst> body, int32_t pointer);

// From the beginning of each part to that of the next one; 0: it differs, or
// there is no next one.
int64_t DistanceOf(const std::vector<Part>& parts);

// The rows of a strip that is read once. Each iteration, after which the
// pointer is incremented by `step`, reads parts of them all, or some of them.
// None if they are not equally far apart.
Rows RowsOf(const Strip& strip, int64_t step);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_PASSES_STRIP_H_
