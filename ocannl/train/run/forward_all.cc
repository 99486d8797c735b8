// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/run/forward_all.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::train {

absl::StatusOr<Assignments> ForwardAll(Model& model,
                                       absl::Span<const Tensor> outputs,
                                       std::string name) {
  if (outputs.empty()) {
    return absl::InvalidArgumentError("there is no output; give one or more");
  }
  absl::flat_hash_set<TensorId> computed;
  std::vector<Tensor> roots;  // that the code of no earlier one computes
  for (Tensor output : outputs) {
    OCANNL_RETURN_IF_ERROR(CheckIsIn(model, output));
    OCANNL_RETURN_IF_ERROR(SetMemoryMode(output, MemoryMode::kMaterialized));
    if (computed.contains(output.id)) continue;
    roots.push_back(output);
    const auto order = TopologicalOrder(model.graph, {output.id}, false);
    // The code of this output reads what the code of earlier ones computes.
    for (TensorId id : order) {
      if (computed.contains(id)) continue;
      for (TensorId operand : OperandsOf(model.graph[id].source)) {
        if (!computed.contains(operand)) continue;
        OCANNL_RETURN_IF_ERROR(SetMemoryMode(Tensor{&model.graph, operand},
                                             MemoryMode::kMaterialized));
      }
    }
    for (TensorId id : order) {
      if (!OperandsOf(model.graph[id].source).empty()) computed.insert(id);
    }
  }
  ComputedBy before = model.computed_by;
  std::vector<Assignments> parts;
  for (Tensor root : roots) {
    absl::StatusOr<Assignments> part = Forward(model, root);
    if (!part.ok()) {
      model.computed_by = std::move(before);
      return part.status();
    }
    parts.push_back(*std::move(part));
  }
  return Sequence(std::move(name), parts);
}

}  // namespace ocannl::train
