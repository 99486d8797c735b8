// SPDX-License-Identifier: Apache-2.0
//
// Project: the loops of one tensor's computation and the index of each operand.
//
//   w1 * x, w1 : 2->16, x : 10|2   ->   extents {10, 16, 2},
//       lhs [i0, i1], operands [i1, i2], [i0, i2]
#ifndef OCANNL_CORE_SHAPE_PROJECT_H_
#define OCANNL_CORE_SHAPE_PROJECT_H_

#include <vector>

#include "ocannl/core/index/projections.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// The projections of the code that computes `id`, a ComputeSource or a
// SliceSource whose shape is in `shapes`. The axes of the result come first,
// in memory order, then the reduced ones by first appearance in the operands.
// An axis of size 1 has a loop of one iteration, unless another axis of its
// name has more cells: then it is repeated, and its index is 0.
// CHECK-fails if a concatenation needs more than one nest.
Projections Project(const Graph& graph, const Shapes& shapes, TensorId id);

// Likewise, one nest for each piece of a spec (einsum_pieces.h).
struct ProjectedPiece {
  Projections projections;    // of the operands below only
  std::vector<int> operands;  // of `id`: those that the terms are made of
};
std::vector<ProjectedPiece> ProjectPieces(const Graph& graph,
                                          const Shapes& shapes, TensorId id);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_PROJECT_H_
