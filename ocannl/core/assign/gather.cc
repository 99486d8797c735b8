// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/gather.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/assign/loops.h"

namespace ocannl {
namespace {

// Whether each index is one of the loops, or 0: inside of its axis.
bool ArePlain(const Indices& indices) {
  return absl::c_all_of(indices, [](const Affine& index) {
    const auto& terms = index.terms();
    return index.offset() == 0 &&
           (terms.empty() || (terms.size() == 1 && terms[0].factor == 1));
  });
}

// The gather with the loops of `order` alone, in that order.
GatherIndices Reordered(GatherIndices gather,
                        absl::Span<const IteratorId> order) {
  Projections nest = ocannl::Reordered(
      {gather.extents, gather.table, {gather.ids, gather.cells}}, order);
  gather.extents = std::move(nest.extents);
  gather.table = std::move(nest.lhs);
  gather.ids = std::move(nest.operands[0]);
  gather.cells = std::move(nest.operands[1]);
  return gather;
}

// Every loop but one.
std::vector<IteratorId> AllBut(IteratorId loop, const LoopExtents& extents) {
  std::vector<IteratorId> rest;
  for (IteratorId k : extents.ids()) {
    if (k != loop) rest.push_back(k);
  }
  return rest;
}

}  // namespace

std::vector<IteratorId> GatherIndices::RowMajor() const {
  std::vector<IteratorId> order;
  for (const Indices* indices : {&ids, &table, &cells}) {
    AddLoops(*indices, order);
  }
  return order;
}

std::optional<GatherIndices> FindGather(
    const Shapes& shapes, TensorId id, const ComputeSource& source,
    absl::Span<const ProjectedPiece> pieces) {
  const auto* logic = std::get_if<ComputeSource::Gather>(&source.logic);
  if (logic == nullptr || pieces.size() != 1 ||
      pieces[0].operands.size() != 3) {
    return std::nullopt;
  }
  const Projections& all = pieces[0].projections;
  const bool scatters = logic->scatters;
  GatherIndices gather{.extents = all.extents,
                       .table = scatters ? all.lhs : all.operands[1],
                       .axis = -1,
                       .ids = all.operands[0],
                       .cells = scatters ? all.operands[1] : all.lhs,
                       .id_source = logic->ids,
                       .scatters = scatters};
  const Shape& chosen = shapes.at(source.operands[0]);
  Dims rest = chosen.dims();
  const size_t last =
      chosen[RowKind::kBatch].size() + chosen[RowKind::kOutput].size() - 1;
  const int64_t size = rest[last];
  const Affine index = gather.ids[last];
  rest.erase(rest.begin() + static_cast<int64_t>(last));
  gather.ids.erase(gather.ids.begin() + static_cast<int64_t>(last));
  const Dims& dims = shapes.at(scatters ? id : source.operands[1]).dims();
  for (size_t axis = 0; axis < dims.size() && gather.axis < 0; ++axis) {
    if (dims[axis] == size && gather.table[axis] == index) {
      gather.axis = static_cast<int32_t>(axis);
    }
  }
  if (gather.axis < 0 || shapes.at(logic->ids).dims() != rest) {
    return std::nullopt;
  }
  gather.table[gather.axis] = 0;
  if (!ArePlain({index}) || !ArePlain(gather.table) || !ArePlain(gather.ids) ||
      !ArePlain(gather.cells)) {
    return std::nullopt;
  }
  if (index.is_constant()) return gather;  // of one cell
  const IteratorId loop = index.terms()[0].symbol.iterator();
  if (DependsOn(gather.table, loop) || DependsOn(gather.ids, loop) ||
      DependsOn(gather.cells, loop)) {
    return std::nullopt;
  }
  return Reordered(gather, AllBut(loop, gather.extents));
}

Assign GatherCells(const GatherIndices& gather, int32_t cells, int32_t table,
                   int32_t ids, ExprId leaf) {
  return {.lhs = cells,
          .accum = std::nullopt,
          .reset = false,
          .lhs_indices = gather.cells,
          .rhs = leaf,
          .sources = {ReadLookup{.table = ReadArray{table, gather.table},
                                 .axis = gather.axis,
                                 .ids = ReadArray{ids, gather.ids}}},
          .extents = gather.extents};
}

Assign ScatterCells(const GatherIndices& gather, int32_t cells, int32_t table,
                    int32_t ids, ExprId leaf) {
  std::vector<IteratorId> of_table;
  AddLoops(gather.table, of_table);
  std::vector<IteratorId> order;
  AddLoops(gather.cells, order);
  AddLoops(gather.ids, order);
  std::erase_if(order, [&](IteratorId loop) {
    return absl::c_linear_search(of_table, loop);
  });
  order.insert(order.end(), of_table.begin(), of_table.end());
  const GatherIndices sorted = Reordered(gather, order);
  return {
      .lhs = table,
      .accum = Op::kAdd,
      .reset = false,
      .lhs_indices = sorted.table,
      .rhs = leaf,
      .lookup = LookedUpAxis{.axis = sorted.axis, .ids = 1},
      .sources = {ReadArray{cells, sorted.cells}, ReadArray{ids, sorted.ids}},
      .extents = sorted.extents};
}

}  // namespace ocannl
