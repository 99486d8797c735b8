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
//   2*o<+3*k            windows inside of the axis:  size = 2*(o-1) + 3*(k-1)+1
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

struct EinsumAxis {
  std::string name;      // empty: a position, or a concatenation
  int64_t position = 0;  // without a name
  int64_t stride = 1;
  int64_t offset = 0;       // less than the stride
  std::string kernel = "";  // the axis along a window, if there are windows
  int64_t dilation = 1;
  bool padded = true;                   // the windows may leave the axis
  std::vector<std::string> parts = {};  // of a concatenation: two or more

  bool is_position() const { return name.empty() && parts.empty(); }
  // Whether it is the axis `name` itself.
  bool is_plain() const {
    return !name.empty() && stride == 1 && kernel.empty();
  }
  // The names in it, to be read or changed.
  std::vector<std::string*> Names();
  // How far a window of `size` cells reaches, and how much of that lies before
  // the first cell of the axis.
  int64_t Span(int64_t size) const { return (size - 1) * dilation + 1; }
  int64_t Before(int64_t size) const { return padded ? Span(size) / 2 : 0; }

  friend bool operator==(const EinsumAxis&, const EinsumAxis&) = default;
};

// Names that stand for numbers in specs.
using EinsumNumbers = absl::flat_hash_map<std::string, double>;

// Reads one axis. Errors: bad syntax; a name in the place of a number that has
// no value, or not one from 1 to 65536.
absl::StatusOr<EinsumAxis> ParseEinsumAxis(absl::string_view text,
                                           const EinsumNumbers& numbers);

// The axis as text that ParseEinsumAxis reads back.
std::string ToString(const EinsumAxis& axis);

// Takes a name of letters, digits and _, or "_", from the front of `text`; of
// one letter if not `long_names`. Empty if there is none.
std::string TakeEinsumName(absl::string_view& text, bool long_names);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_EINSUM_EINSUM_AXIS_H_
