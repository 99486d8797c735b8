// SPDX-License-Identifier: Apache-2.0
//
// Gathers and scatters in the place of products with a one-hot matrix. A sum of
// which only one term is selected becomes a gather; terms that are selected for
// only one cell become a scatter.
//
//   y[b, d] = sum over v of select(v == ids[b], table[v, d], 0)
//           = table[ids[b], d]
//   y[v, d] = sum over b of select(v == ids[b], x[b, d], 0)
//     y[ids[b], d] += x[b, d]
//
// Each is the gradient of the other.
#ifndef OCANNL_CORE_ASSIGN_GATHER_H_
#define OCANNL_CORE_ASSIGN_GATHER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/shape/infer.h"
#include "ocannl/core/shape/project.h"
#include "ocannl/core/tensor/graph.h"

namespace ocannl {

struct GatherIndices {
  LoopExtents extents;  // of the loops, but that over the indexed axis
  Indices table;        // of the array that has the indexed axis; 0 there
  int32_t axis;         // that one
  Indices ids;
  Indices cells;       // of the other array
  TensorId id_source;  // whose array `ids` is of
  bool scatters;       // from the cells into the table

  // The loops that the index depends on, then the others: in this order, what
  // is read of one row is contiguous.
  std::vector<IteratorId> RowMajor() const;
};

// The cells that tensor `id` gathers or scatters, if the logic of `source`, its
// source, is a Gather. `pieces` are its projections. nullopt if the cells are
// not one for each of the other loops, or may be outside of the arrays on other
// axes.
std::optional<GatherIndices> FindGather(
    const Shapes& shapes, TensorId id, const ComputeSource& source,
    absl::Span<const ProjectedPiece> pieces);

// cells = table[ids], where `leaf` is leaf 0; the arrays are by number.
Assign GatherCells(const GatherIndices& gather, int32_t cells, int32_t table,
                   int32_t ids, ExprId leaf);

// table[ids] += cells: to each cell in memory order of what is added.
Assign ScatterCells(const GatherIndices& gather, int32_t cells, int32_t table,
                    int32_t ids, ExprId leaf);

}  // namespace ocannl

#endif  // OCANNL_CORE_ASSIGN_GATHER_H_
