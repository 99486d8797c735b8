// SPDX-License-Identifier: Apache-2.0
//
// Which tensors the gradient of a loss reaches: what operations without a
// gradient, such as comparisons and StopGradient, cut off is frozen.
#ifndef OCANNL_CORE_ASSIGN_REACH_H_
#define OCANNL_CORE_ASSIGN_REACH_H_

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// The tensors of `order`, operands first, that the gradient of the last one
// reaches, and the last one. `relu_gate` passes nothing on to its first
// operand.
absl::flat_hash_set<TensorId> ReachedByGradient(
    const Graph& graph, absl::Span<const TensorId> order);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_REACH_H_
