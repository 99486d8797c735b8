// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/reach.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/assign/contract.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/tensor/defined_op.h"

namespace ocannl {
namespace {

// Whether `compute`, the source of `id`, has a gradient for each operand.
std::vector<bool> HasGradients(const Graph& graph, TensorId id,
                               const ComputeSource& compute) {
  ExprPool pool;
  std::vector<Expr> args;
  for (TensorId operand : compute.operands) {
    args.push_back(MakeLeaf(pool, ComputeDType(graph[operand].dtype),
                            static_cast<int32_t>(args.size())));
  }
  const DType dtype = ComputeDType(graph[id].dtype);
  if (compute.defined != nullptr) {
    for (const auto& each : compute.defined->intermediates) {
      args.push_back(MakeLeaf(pool, DTypeOf(*compute.defined, each, dtype),
                              static_cast<int32_t>(args.size())));
    }
  }
  const Expr y = MakeLeaf(pool, dtype, -1);
  const Expr g = MakeLeaf(pool, dtype, -2);
  std::vector<bool> has;
  for (const std::optional<Expr>& gradient :
       compute.op ? Gradients(*compute.op, args, y, g)
                  : GradientsOf(*compute.defined, args, y, g)) {
    has.push_back(gradient.has_value());
  }
  return has;
}

}  // namespace

absl::flat_hash_set<TensorId> ReachedByGradient(
    const Graph& graph, absl::Span<const TensorId> order) {
  absl::flat_hash_set<TensorId> reached = {order.back()};
  // Of rows of ops.def: a row tells it, whatever the operands are.
  absl::flat_hash_map<Op, std::vector<bool>> of_op;
  for (size_t k = order.size(); k-- > 0;) {
    const TensorId id = order[k];
    if (!reached.contains(id) || !graph[id].has_gradient) continue;
    const absl::Span<const TensorId> operands = OperandsOf(graph[id].source);
    const auto with_gradient = absl::c_count_if(
        operands,
        [&](TensorId operand) { return graph[operand].has_gradient; });
    const auto* compute = std::get_if<ComputeSource>(&graph[id].source);
    std::vector<bool> of_defined;
    const std::vector<bool>* has = nullptr;  // null: for all
    // A single one is why `id` has a gradient.
    const bool is_asked =
        with_gradient > 1 && compute != nullptr && !IsContracted(*compute);
    if (is_asked && compute->op) {
      const auto [known, is_new] = of_op.try_emplace(*compute->op);
      if (is_new) known->second = HasGradients(graph, id, *compute);
      has = &known->second;
    } else if (is_asked && compute->defined != nullptr) {
      has = &(of_defined = HasGradients(graph, id, *compute));
    }
    const size_t count = has == nullptr ? operands.size() : has->size();
    for (size_t n = 0; n < count; ++n) {
      if (!graph[operands[n]].has_gradient) continue;
      if (has == nullptr || (*has)[n]) reached.insert(operands[n]);
    }
  }
  return reached;
}

}  // namespace ocannl
