// SPDX-License-Identifier: Apache-2.0
//
// How error messages write tensor expressions: as the notation does.
//
//   "relu(b1 + w1 * x)"    an operand that is too long is "..."
#ifndef OCANNL_CORE_TENSOR_TEXT_H_
#define OCANNL_CORE_TENSOR_TEXT_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/shape.h"

namespace ocannl {

// The node's name if its user gave one, else its expression.
std::string OperandText(const TensorNode& node);

// "function("spec", a, b, 3)"; no spec if it is empty, and `rest` as it is.
std::string CallText(absl::string_view function, absl::string_view spec,
                     absl::Span<const TensorNode* const> args,
                     absl::string_view rest = "");

// `wanted` is the dtype that a conversion gives, if it says so.
std::string PointwiseText(const Graph& graph, Op op,
                          std::optional<DType> wanted,
                          absl::Span<const TensorId> ids);
std::string ComposeText(const Graph& graph, absl::Span<const TensorId> ids);
std::string ReduceText(const Graph& graph, std::optional<Op> op, Op accum,
                       absl::string_view spec, absl::Span<const TensorId> ids);
std::string ReshapeText(const TensorNode& of, const Shape& shape);
std::string SliceText(const TensorNode& of, absl::string_view index);

// The error of `b`, which meets `a` of another graph at `where`.
absl::Status TwoGraphs(const TensorNode& a, const TensorNode& b,
                       SourceLocation where);

// How to make it a `dtype`: "f32(i), in C++ Convert(i, DType::kF32)".
std::string ConversionText(const TensorNode& node, DType dtype);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_TEXT_H_
