// SPDX-License-Identifier: Apache-2.0
//
// The outputs of a node: by its rule, or as constants if all inputs are.
#ifndef OCANNL_ONNX_RULES_APPLY_H_
#define OCANNL_ONNX_RULES_APPLY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/onnx/model.h"
#include "ocannl/onnx/rules/op_call.h"
#include "ocannl/onnx/rules/value.h"
#include "ocannl/train/graph/model.h"

namespace ocannl::onnx {

// The outputs of `node` as nodes of `model`, whose shapes are inferred. If all
// inputs are constants, so are the outputs, which the interpreter computes now.
// Errors: those of CheckKnown (operators.h) and of the rule; a damaged model.
absl::StatusOr<Outputs> Apply(const Node& node, int64_t opset,
                              std::vector<std::optional<Value>> inputs,
                              train::Model& model);

// The cells of `value`, computed by the interpreter, if that is possible at
// import: nothing that it depends on is an input.
absl::StatusOr<NdArray> Evaluate(train::Model& model, const Value& value);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_RULES_APPLY_H_
