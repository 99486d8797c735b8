// SPDX-License-Identifier: Apache-2.0
//
// A case of the ONNX node tests: a folder with a model, its inputs and its
// expected outputs.
#ifndef TESTS_ONNX_RUN_CASE_H_
#define TESTS_ONNX_RUN_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/onnx/model.h"

namespace ocannl::onnx {

// The operator that the case is about. If a function is spelled out, it is the
// function.
std::string OpOfCase(const std::string& folder);

// The outputs of the model for `inputs`, in the order of the file, on the
// interpreter. Every other tier must give the same bits. Inputs that the import
// must know, such as the dims of a Reshape, are constants of the import.
// Errors: as of RunCase.
absl::StatusOr<std::vector<NdArray>> RunModel(OnnxModel file,
                                              std::vector<NdArray> inputs);

// The same for a model of one node, which names the inputs.
absl::StatusOr<std::vector<NdArray>> RunNode(const Node& node, int64_t opset,
                                             std::vector<NdArray> inputs);

// Runs the model of the folder and compares the outputs: integers, bools and
// cells that are only moved exactly, and floats to the tolerance of
// run_case.cc. `op` is that of OpOfCase. Unimplemented: the import does not
// support the model. Other errors: a wrong result.
absl::Status RunCase(const std::string& folder, const std::string& op);

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_RUN_CASE_H_
