// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/reach.h"

#include <cstdint>
#include <optional>

#include "ocannl/core/assign/contract.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/tensor/defined_op.h"

namespace ocannl {

std::vector<TensorId> GradientOperands(const Graph& graph, TensorId id) {
  std::vector<TensorId> reached;
  if (!graph[id].has_gradient) return reached;
  const absl::Span<const TensorId> operands = OperandsOf(graph[id].source);
  for (TensorId operand : operands) {
    if (graph[operand].has_gradient) reached.push_back(operand);
  }
  const auto* compute = std::get_if<ComputeSource>(&graph[id].source);
  const bool passes_to_all = compute == nullptr || IsContracted(*compute) ||
                             (!compute->op && compute->defined == nullptr);
  // A single one is why `id` has a gradient.
  if (reached.size() < 2 || passes_to_all) return reached;
  ExprPool pool;
  std::vector<Expr> args;
  for (TensorId operand : operands) {
    args.push_back(MakeLeaf(pool, ComputeDType(graph[operand].dtype),
                            static_cast<int32_t>(args.size())));
  }
  const DType dtype = ComputeDType(graph[id].dtype);
  if (compute->defined != nullptr) {
    for (const auto& each : compute->defined->intermediates) {
      args.push_back(MakeLeaf(pool, DTypeOf(*compute->defined, each, dtype),
                              static_cast<int32_t>(args.size())));
    }
  }
  const Expr y = MakeLeaf(pool, dtype, -1);
  const Expr g = MakeLeaf(pool, dtype, -2);
  const auto gradients = compute->op
                             ? Gradients(*compute->op, args, y, g)
                             : GradientsOf(*compute->defined, args, y, g);
  reached.clear();
  for (size_t k = 0; k < gradients.size(); ++k) {
    if (gradients[k] && graph[operands[k]].has_gradient) {
      reached.push_back(operands[k]);
    }
  }
  return reached;
}

absl::flat_hash_set<TensorId> ReachedByGradient(
    const Graph& graph, absl::Span<const TensorId> order) {
  absl::flat_hash_set<TensorId> reached = {order.back()};
  for (size_t k = order.size(); k-- > 0;) {
    if (!reached.contains(order[k])) continue;
    for (TensorId operand : GradientOperands(graph, order[k])) {
      reached.insert(operand);
    }
  }
  return reached;
}

}  // namespace ocannl
