// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/reshape_sizes.h"

#include <iterator>
#include <variant>

#include "absl/algorithm/container.h"

namespace ocannl {

std::vector<TensorId> RelateReshapes(const Graph& graph, const Problem& problem,
                                     absl::Span<const std::vector<int>> axes,
                                     SizeSystem& sizes) {
  std::vector<TensorId> reshapes;
  for (TensorId id : problem.nodes) {
    const auto* reshape = std::get_if<ReshapeSource>(&graph[id].source);
    if (reshape == nullptr || !problem.index.contains(reshape->of)) continue;
    const int cells = sizes.Add(RowRole::kComputed);
    for (TensorId tensor : {reshape->of, id}) {
      std::vector<int> all;
      for (RowKind kind : kRowKinds) {
        absl::c_copy(axes[problem.RowIndex({tensor, kind})],
                     std::back_inserter(all));
      }
      sizes.Multiply(cells, all);
      reshapes.push_back(id);
    }
  }
  return reshapes;
}

}  // namespace ocannl
