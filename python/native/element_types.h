// SPDX-License-Identifier: Apache-2.0
//
// The element types of the buffer protocol and of DLPack, and names of dtypes
// as users of NumPy and PyTorch write them.
#ifndef PYTHON_NATIVE_ELEMENT_TYPES_H_
#define PYTHON_NATIVE_ELEMENT_TYPES_H_

#include <dlpack/dlpack.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/ocannl.h"

namespace ocannl::python {

struct ElementType {
  DType dtype;
  const char* format;  // of the buffer protocol; null: it has no such type
  uint8_t code;        // of DLPack
};

const ElementType& TypeOf(DType dtype);

// The type of a format of the buffer protocol, or of DLPack. Null: there is no
// such dtype.
const ElementType* FindFormat(absl::string_view format, size_t size);
const ElementType* FindCode(const DLDataType& found);

// NumPy's name of a dtype: "float32", "bfloat16".
std::string NumpyName(DType dtype);

// The dtype that a user names: "f32". Raises ocannl.Error, which suggests one
// for "float32", numpy.float32 and torch.float32.
DType DTypeOf(const pybind11::object& name);

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_ELEMENT_TYPES_H_
