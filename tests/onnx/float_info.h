// SPDX-License-Identifier: Apache-2.0
//
// Inputs and outputs of models that tests write.
#ifndef TESTS_ONNX_FLOAT_INFO_H_
#define TESTS_ONNX_FLOAT_INFO_H_

#include <string>
#include <vector>

#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"

namespace ocannl::onnx {

// An input or output of f32 with these dims; a dim below 0 is free, and called
// "batch".
inline TensorInfo FloatInfo(const std::string& name, const Dims& dims) {
  TensorInfo info = {.name = name,
                     .dtype_code = CodeOfDType(DType::kF32),
                     .dims = std::vector<Dim>()};
  for (int64_t size : dims) {
    info.dims->push_back(size < 0 ? Dim{std::nullopt, "batch"} : Dim{size, ""});
  }
  return info;
}

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_FLOAT_INFO_H_
