// SPDX-License-Identifier: Apache-2.0
//
// AxisSpec: one axis among the others of a tensor, as a slot of a spec with one
// name, and what is built with it.
//
//   "...|...->..., t"    the last output axis, whatever else there is
//   "...|t, d"           names two axes: an error
#ifndef OCANNL_CORE_TENSOR_AXIS_SPEC_H_
#define OCANNL_CORE_TENSOR_AXIS_SPEC_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/source_location.h"
#include "ocannl/core/tensor/einsum/einsum.h"
#include "ocannl/core/tensor/einsum/einsum_axis.h"
#include "ocannl/core/tensor/graph.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

struct AxisSpec {
  EinsumSlot slot;
  std::string name;

  // The slot with `axes` in the place of the axis.
  EinsumSlot With(const std::vector<EinsumAxis>& axes) const;
};

// Errors: bad syntax; no name, or several; an axis that is computed.
absl::StatusOr<AxisSpec> ParseAxisSpec(absl::string_view text);

// An axis of its own, and position 0, which broadcasts.
EinsumAxis PlainAxis(std::string name);
EinsumAxis FirstCell();

// The slot, or an empty one, with an axis more at the end of its outputs.
EinsumSlot Behind(EinsumSlot slot, EinsumAxis axis);

// The text of a spec.
std::string SpecText(std::vector<EinsumSlot> operands, EinsumSlot result);

// What `build` makes of several operations: messages call all of them `text`,
// but those with the text of their operand. Its error becomes an error node.
Tensor Composed(Graph& graph, const std::string& text, SourceLocation where,
                absl::FunctionRef<absl::StatusOr<Tensor>()> build);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_AXIS_SPEC_H_
