// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tensor/axis_spec.h"

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl {

EinsumSlot AxisSpec::With(const std::vector<EinsumAxis>& axes) const {
  auto replaced = [&](const std::vector<EinsumAxis>& old) {
    std::vector<EinsumAxis> all;
    for (const EinsumAxis& axis : old) {
      if (axis.name == name) {
        all.insert(all.end(), axes.begin(), axes.end());
      } else {
        all.push_back(axis);
      }
    }
    return all;
  };
  EinsumSlot result = slot;
  for (EinsumRow& row : result) {
    row.begin = replaced(row.begin);
    row.end = replaced(row.end);
  }
  return result;
}

absl::StatusOr<AxisSpec> ParseAxisSpec(absl::string_view text) {
  OCANNL_ASSIGN_OR_RETURN(EinsumSpec spec,
                          ParseEinsum(absl::StrCat(text, " => "), 1));
  AxisSpec axis = {.slot = spec.operands[0], .name = ""};
  bool one = true;
  ForEachAxis(axis.slot, [&](const EinsumAxis& each) {
    one = one && each.is_plain() && axis.name.empty();
    axis.name = each.name;
  });
  if (one && !axis.name.empty() && axis.name != "_") return axis;
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" does not name one axis; write ... for the others, as in ",
      "\"...|...->..., i\""));
}

EinsumAxis PlainAxis(std::string name) { return {.name = std::move(name)}; }

EinsumAxis FirstCell() { return {.name = "", .position = 0}; }

EinsumSlot Behind(EinsumSlot slot, EinsumAxis axis) {
  EinsumRow& row = slot[static_cast<int>(RowKind::kOutput)];
  (row.variable ? row.end : row.begin).push_back(std::move(axis));
  return slot;
}

std::string SpecText(std::vector<EinsumSlot> operands, EinsumSlot result) {
  return ToString(
      EinsumSpec{.operands = std::move(operands), .result = std::move(result)});
}

Tensor Composed(Graph& graph, const std::string& text, SourceLocation where,
                absl::FunctionRef<absl::StatusOr<Tensor>()> build) {
  auto outer =
      graph.SetCall(std::make_shared<CallNote>(CallNote{text, {}, where}));
  if (outer != nullptr) graph.SetCall(outer);
  TensorId id{graph.size()};
  absl::StatusOr<Tensor> result = build();
  graph.SetCall(std::move(outer));
  if (!result.ok()) {
    return ErrorTensor(graph, text, result.status().message(), where);
  }
  for (; id.index < graph.size(); ++id.index) {
    const absl::Span<const TensorId> of = OperandsOf(graph[id].source);
    if (of.size() == 1 && graph[id].text == graph[of[0]].text) continue;
    graph.SetText(id, text);
  }
  return *result;
}

}  // namespace ocannl
