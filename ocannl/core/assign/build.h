// SPDX-License-Identifier: Apache-2.0
//
// The code of a tensor: Graph, Shapes -> Assignments.
//
//   Forward    computes the tensor from its operands
//   Backward   zeroes gradients, sets the tensor's to 1 and propagates it back
//   Initialize gives parameters their first values
//
// A tensor that another tensor's code computes is not a root any more. Asking
// for its code again is an error, unless its value is kept between runs
// (memory_mode.h): then it is read.
#ifndef OCANNL_CORE_ASSIGN_BUILD_H_
#define OCANNL_CORE_ASSIGN_BUILD_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/assign/gradient.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// Which tensor's code computes each tensor's value, and each one's gradient.
struct ComputedBy {
  absl::flat_hash_map<TensorId, TensorId> forward;
  absl::flat_hash_map<TensorId, TensorId> backward;
};

// The code that computes `root` and everything it depends on that is not
// computed yet. Error: `root`, or a tensor it needs, is not a root any more.
// `shapes` holds the shape of everything that `root` depends on.
absl::StatusOr<Assignments> Forward(const Graph& graph, const Shapes& shapes,
                                    TensorId root, ComputedBy& computed_by);

// The code that adds the gradient of `root`, 1, to the zeroed gradients of all
// it depends on. Uses values, so the code of Forward comes first. Errors: the
// tensor has no gradient; its code is consumed already.
absl::StatusOr<BackwardCode> Backward(const Graph& graph, const Shapes& shapes,
                                      TensorId root, ComputedBy& computed_by);

// The tensors whose gradients Backward computes, for AppendBackprop, operands
// first; consumes its code. Errors: the same.
absl::StatusOr<std::vector<TensorId>> BackwardOrder(const Graph& graph,
                                                    TensorId root,
                                                    ComputedBy& computed_by);

// The code that gives each of `parameters` its initial value.
Assignments Initialize(const Graph& graph, const Shapes& shapes,
                       absl::Span<const TensorId> parameters);

// The parameters that `root` depends on, in the order of their ids.
std::vector<TensorId> ParametersOf(const Graph& graph, TensorId root);

// The parameters among them that the gradient of `root` reaches.
std::vector<TensorId> TrainedParametersOf(const Graph& graph, TensorId root);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_BUILD_H_
