// SPDX-License-Identifier: Apache-2.0
//
// Gathers without sums: where a sum of selected cells has one term.
//
//   y[b, d] = sum over v of select(v == ids[b], table[v, d], 0)
//           = table[ids[b], d]
#ifndef OCANNL_CORE_ASSIGN_GATHER_H_
#define OCANNL_CORE_ASSIGN_GATHER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/shape/project.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

struct GatherIndices {
  std::vector<int64_t> extents;  // of the loops, but that over the indexed axis
  Indices lhs;
  Indices table;  // 0 on the indexed axis
  int32_t axis;   // that one, of the table
  Indices ids;

  // The loops that move the index, then the others: in this order, what is read
  // of one row is side by side.
  std::vector<int32_t> RowMajor() const;
};

// How `source`, which has a GatherNote and the projections `pieces`, reads its
// table; nullopt where that is not one cell of it for each of the other loops,
// or may be outside of the arrays on other axes.
std::optional<GatherIndices> FindGather(
    const Shapes& shapes, const ComputeSource& source,
    absl::Span<const ProjectedPiece> pieces);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_GATHER_H_
