// SPDX-License-Identifier: Apache-2.0
//
// Reshaping: loops that copy an array to one of other dims in row-major order:
// the same linear offset, delinearized with the dims of each.
//
//   {6, 4} to {3, 8}   ->   extents {3, 2, 4}, lhs [i0, 4*i1 + i2],
//                           operands [2*i0 + i1, i2]
#ifndef OCANNL_CORE_INDEX_RESHAPE_H_
#define OCANNL_CORE_INDEX_RESHAPE_H_

#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/index/projections.h"

namespace ocannl {

// One nest; or two, one after the other, by way of a flat array, where no nest
// has affine indices: {2, 3} to {3, 2}. CHECK-fails if the numbers of cells
// differ.
std::vector<Projections> Reshaping(absl::Span<const int64_t> from,
                                   absl::Span<const int64_t> to);

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_RESHAPE_H_
