// SPDX-License-Identifier: Apache-2.0
//
// A case of the ONNX node tests: a folder with a model and with what goes in
// and comes out.
#ifndef TESTS_ONNX_RUN_CASE_H_
#define TESTS_ONNX_RUN_CASE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/base/ndarray.h"
#include "tests/onnx/model.h"

namespace ocannl::onnx {

// The theme of each operation that there is a rule for.
const std::map<std::string, std::string>& Themes();

// The operation that the case is about: of a function that is spelled out, the
// function.
std::string OpOfCase(const std::string& folder);

// What the operation makes of the inputs, which it names, on the interpreter;
// every other tier must give the same bits. Errors: as of RunCase.
absl::StatusOr<std::vector<NdArray>> RunNode(const Node& node, int64_t opset,
                                             std::vector<NdArray> inputs);

// `op` is that of OpOfCase. Imports the model, runs it on the interpreter and
// compares what comes out: integers, bools, and what is only moved, exactly;
// floats to the tolerance of run_case.cc. Every other tier must give the
// interpreter's bits. Errors: Unimplemented, with what is missing: an operation
// or attribute without a rule, a dtype that is not ours; else what is wrong.
absl::Status RunCase(const std::string& folder, const std::string& op);

}  // namespace ocannl::onnx

#endif  // TESTS_ONNX_RUN_CASE_H_
