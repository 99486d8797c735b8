// SPDX-License-Identifier: Apache-2.0
//
// The table of operators.def: which operators, versions, inputs and attributes
// an import knows.
#ifndef OCANNL_ONNX_RULES_OPERATORS_H_
#define OCANNL_ONNX_RULES_OPERATORS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/onnx/model.h"

namespace ocannl::onnx {

// The newest opset of ONNX whose operators the table has.
inline constexpr int64_t kNewestOpset = 28;

// The domain of the operators that are steps of optimisers.
inline constexpr absl::string_view kTrainingDomain = "ai.onnx.preview.training";

// A row of operators.def.
struct Operator {
  absl::string_view theme;
  absl::string_view name;
  absl::string_view versions;  // "7 13 14"
  size_t least_inputs, most_inputs;
  absl::string_view attributes;  // "axis mode=linear|cubic"
};

// In the place of `most_inputs`: any number.
inline constexpr size_t kManyInputs = 1000;

// All rows, in the order of the table.
absl::Span<const Operator> Operators();

// The row of `op`; null: there is none.
const Operator* FindOperator(absl::string_view op);

// The attributes of the row, one string each.
std::vector<absl::string_view> AttributesOf(const Operator& known);

// Whether `node` chooses one of its graphs. The table does not have it.
bool IsBranch(const Node& node);

// Whether the table has `node`. Unimplemented: the operator, its version, an
// input, an attribute or the value of one is not in the table. InvalidArgument:
// an input is missing that the operator must have.
absl::Status CheckKnown(const Node& node, int64_t opset);

}  // namespace ocannl::onnx

#endif  // OCANNL_ONNX_RULES_OPERATORS_H_
