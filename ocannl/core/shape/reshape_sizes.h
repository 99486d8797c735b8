// SPDX-License-Identifier: Apache-2.0
//
// RelateReshapes: both sides of a reshape have the same number of cells.
#ifndef OCANNL_CORE_SHAPE_RESHAPE_SIZES_H_
#define OCANNL_CORE_SHAPE_RESHAPE_SIZES_H_

#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/shape/problem.h"
#include "ocannl/core/shape/size.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

// `axes` has those of each row of `problem`, in `sizes`. Returns the reshape of
// each relation that it adds to `sizes`, in order.
std::vector<TensorId> RelateReshapes(const Graph& graph, const Problem& problem,
                                     absl::Span<const std::vector<int>> axes,
                                     SizeSystem& sizes);

}  // namespace ocannl

#endif  // OCANNL_CORE_SHAPE_RESHAPE_SIZES_H_
