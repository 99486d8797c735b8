// SPDX-License-Identifier: Apache-2.0
//
// Arrays of Python, which are exchanged without a copy where layouts allow.
#ifndef PYTHON_NATIVE_ARRAYS_H_
#define PYTHON_NATIVE_ARRAYS_H_

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ocannl/ocannl.h"

namespace ocannl::python {

// Cells of a Python object: of the buffer protocol, of DLPack, or of numbers
// and lists of them. `owner` keeps them alive.
struct ArrayView {
  // Without memory of their own: a step of a small network takes 1 us, and an
  // allocation 0.05.
  using Sizes = absl::InlinedVector<int64_t, 4>;

  const std::byte* data = nullptr;
  DType dtype = DType::kF32;
  Sizes dims;
  Sizes strides;  // in bytes
  std::shared_ptr<void> owner;

  bool is_contiguous() const;
  // Copies the cells in row-major order to `to`.
  void CopyTo(std::byte* to) const;
};

// The cells of `object`. Numbers and lists take the dtype `wanted` if it holds
// their values. Raises ocannl.Error, which names `what`, if the object is not
// an array, is not on the host, or is of another dtype.
ArrayView ViewOf(const pybind11::handle& object, DType wanted,
                 const std::string& what);

// A copy of the cells.
NdArray ArrayOf(const ArrayView& view);

// An array that Python owns: `ocannl.Array`.
pybind11::object ToPython(NdArray array);

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_ARRAYS_H_
