// SPDX-License-Identifier: Apache-2.0
//
// The text in front of the numbers of a .npy file, a Python dictionary:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//   ->   NpyHeader{f32, {2, 3}, false}
//
// NumPy has neither bf16 nor floats of 8 bits. Their bits are integers there,
// in records whose only field has the dtype's name:
//
//   w = numpy.load("w.npy")["bf16"]                        # of type uint16
//   (w.astype(numpy.uint32) << 16).view(numpy.float32)     # the same numbers
#ifndef OCANNL_CORE_RUNTIME_NPY_HEADER_H_
#define OCANNL_CORE_RUNTIME_NPY_HEADER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl {

struct NpyHeader {
  DType dtype;
  Dims dims;
  bool fortran_order;  // the first axis varies fastest

  friend bool operator==(const NpyHeader&, const NpyHeader&) = default;
};

// NumPy takes no more.
inline constexpr int kMostNpyAxes = 32;

// Errors name what is wrong, and the fix. The dims are only known not to be
// negative.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view text);

// ParseNpyHeader(Format(header)) == header.
std::string Format(const NpyHeader& header);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_NPY_HEADER_H_
