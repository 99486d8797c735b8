// SPDX-License-Identifier: Apache-2.0
//
// InferBases: what axes measure, their units, once their sizes are known:
// unification of equal axes by union-find.
//
//   x : 3 rgb,  {w; i=[3 hsv]} * x   ->   an error: 3 is 3, but rgb is not hsv
//
// Axes that a rule makes equal have one basis: those that go together, those of
// one name, an axis and the windows along it, a concatenation and its parts.
// Sizes that were given without a basis are of the basis "default"; a size of 1
// that broadcasts is of any.
#ifndef OCANNL_CORE_SHAPE_BASES_H_
#define OCANNL_CORE_SHAPE_BASES_H_

#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ocannl/core/shape/problem.h"
#include "ocannl/core/shape/size.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

using TensorBases = absl::flat_hash_map<TensorId, Bases>;

// Adds the bases of the tensors of `problem` that have others than the default;
// those that are there count as given. `axes` are the numbers in `sizes` of the
// axes of each row. Error: axes of different bases that a rule makes equal;
// `bases` is then unchanged.
absl::Status InferBases(const Graph& graph, const Problem& problem,
                        const std::vector<std::vector<int>>& axes,
                        const SizeSystem& sizes, TensorBases& bases);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_BASES_H_
