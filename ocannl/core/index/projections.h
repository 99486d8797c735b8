// SPDX-License-Identifier: Apache-2.0
//
// Projections: the access functions of one loop nest, in the sense of the
// polyhedral model: how the points of its iteration domain map to array cells.
//
//   n35 =:+ w1 * x ~logic:"@"    extents = {10, 16, 2}      b, o, i
//                                lhs     = [b, o]
//                                operands = [[o, i], [b, i]]
#ifndef OCANNL_CORE_INDEX_PROJECTIONS_H_
#define OCANNL_CORE_INDEX_PROJECTIONS_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "ocannl/core/base/containers/id.h"
#include "ocannl/core/index/affine.h"

namespace ocannl {

// One index per axis, in memory order: batch, output, input. Those of one axis
// have no memory of their own.
using Indices = absl::InlinedVector<Affine, 1>;

// Iterator k runs over [0, extents[k]).
using LoopExtents =
    IdVector<IteratorId, int64_t, absl::InlinedVector<int64_t, 2>>;

struct Projections {
  // The axes of the result come first, in memory order, so that reductions are
  // innermost.
  LoopExtents extents;
  Indices lhs;
  std::vector<Indices> operands;

  friend bool operator==(const Projections&, const Projections&) = default;
};

// Whether the loops over `extents` reach every cell of an array of `dims`
// through `indices` exactly once. Conservative: false when unsure.
bool IsBijective(const LoopExtents& extents, const Indices& indices,
                 absl::Span<const int64_t> dims);

// Whether the loops over `extents` reach every cell of an array of `dims`
// through `indices` at least once. Conservative: false when unsure.
bool IsSurjective(const LoopExtents& extents, const Indices& indices,
                  absl::Span<const int64_t> dims);

// Whether the images of all `pieces` under their `lhs` are a partition of an
// array of `dims`: each cell is reached exactly once. Conservative: false when
// unsure.
bool IsPartition(absl::Span<const Projections> pieces,
                 absl::Span<const int64_t> dims);

}  // namespace ocannl

#endif  // OCANNL_CORE_INDEX_PROJECTIONS_H_
