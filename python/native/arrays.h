// SPDX-License-Identifier: Apache-2.0
//
// Arrays of Python, which are exchanged without a copy where layouts allow.
#ifndef PYTHON_NATIVE_ARRAYS_H_
#define PYTHON_NATIVE_ARRAYS_H_

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
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

// The steps between cells of `size` bytes, or between cells if that is 1.
ArrayView::Sizes RowMajorStrides(absl::Span<const int64_t> dims, int64_t size);

// A copy of the cells.
NdArray ArrayOf(const ArrayView& view);

// An array that Python owns: `ocannl.Array`. Its cells are aligned to 64 bytes,
// so that JAX shares them: it copies others.
struct HostArray {
  HostArray(DType cell_dtype, Dims sizes);

  size_t bytes() const { return NumElements(dims) * SizeOf(dtype); }
  NdArray Copy() const;

  DType dtype;
  Dims dims;
  std::shared_ptr<std::byte> cells;
};

// The array of a context, as Context::Read gives it.
absl::StatusOr<std::shared_ptr<HostArray>> ReadArray(const Context& context,
                                                     const std::string& name);

// A copy of `array` for Python.
pybind11::object ToPython(const NdArray& array);

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_ARRAYS_H_
