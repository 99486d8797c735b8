// SPDX-License-Identifier: Apache-2.0
//
// EinsumAxis: one axis of a spec.
//
//   i                   an axis of its own; "_" is one that nothing else names
//   2                   position 2
//   2*o  2*o+1          every second cell, from cell 0 or 1
//   2*o+3*k  2*o=+3*k   windows: cell k of the window of o, 3 cells apart. The
//                       windows are 2 apart, and centred: what they reach
//                       outside of the axis does not count.  size = 2*o
//                       Even ones reach one cell further to the left.
//   2*o<+3*k            windows that fill the axis:  size = 2*(o-1) + 3*(k-1)+1
//   1<2*o+3*k<4         as many windows as fit into the axis with 1 cell of
//                       padding before it and 4 after it, which do not count:
//                       o = floor((size + 1 + 4 - 3*(k-1) - 1) / 2) + 1
//   1<2*o+3*k<=4        the same rounded up: the last window may end beyond
//                       the padding, but does not start in the padding after
//                       the axis (ceil_mode of PyTorch and ONNX).
//   2*o<=+3*k           a window for each step that starts in the axis:
//                       o = ceil(size / 2). The padding they need is split in
//                       halves, the larger one after the axis (SAME_UPPER of
//                       ONNX, "same" of TensorFlow).
//   a^b^c               the cells of a, then those of b, then those of c
//
// Instead of a number there may be a name that has a value.
#ifndef OCANNL_CORE_TENSOR_EINSUM_EINSUM_AXIS_H_
#define OCANNL_CORE_TENSOR_EINSUM_EINSUM_AXIS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// How windows lie on an axis.
enum class WindowFit : uint8_t {
  kCentred,  // 2*o+k
  kExact,    // 2*o<+k
  kFloor,    // 1<2*o+k<1
  kCeil,     // 1<2*o+k<=1
  kSame,     // 2*o<=+k
};

struct EinsumAxis {
  std::string name;      // empty: a position, or a concatenation
  int64_t position = 0;  // without a name
  int64_t stride = 1;
  int64_t offset = 0;       // less than the stride
  std::string kernel = "";  // the axis along a window, if there are windows
  int64_t dilation = 1;
  WindowFit fit = WindowFit::kCentred;
  int64_t before = 0, after = 0;        // padding, of kFloor and kCeil
  std::vector<std::string> parts = {};  // of a concatenation: two or more

  bool is_position() const { return name.empty() && parts.empty(); }
  // Whether it is the axis `name` itself.
  bool is_plain() const {
    return !name.empty() && stride == 1 && kernel.empty();
  }
  // The names in it, to be read or changed.
  std::vector<std::string*> Names();
  bool has_paddings() const {
    return fit == WindowFit::kFloor || fit == WindowFit::kCeil;
  }
  // How far the first of `count` windows of `window` cells starts before an
  // axis of `size` cells.
  int64_t Before(int64_t window, int64_t count, int64_t size) const;

  friend bool operator==(const EinsumAxis&, const EinsumAxis&) = default;
};

// Names that stand for numbers in specs.
using EinsumNumbers = absl::flat_hash_map<std::string, double>;

// Reads one axis. Errors: bad syntax; a name in the place of a number that has
// no value, or not one from 1 to 65536; paddings may be 0.
absl::StatusOr<EinsumAxis> ParseEinsumAxis(absl::string_view text,
                                           const EinsumNumbers& numbers);

// The axis as text that ParseEinsumAxis reads back.
std::string ToString(const EinsumAxis& axis);

// Takes a name of letters, digits and _, or "_", from the front of `text`; of
// one letter if not `long_names`. Empty if there is none.
std::string TakeEinsumName(absl::string_view& text, bool long_names);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_EINSUM_EINSUM_AXIS_H_
