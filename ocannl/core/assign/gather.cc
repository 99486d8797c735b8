// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/assign/gather.h"

#include <utility>

#include "absl/algorithm/container.h"

namespace ocannl {
namespace {

bool Mentions(const Indices& indices, Symbol symbol) {
  return absl::c_any_of(indices, [&](const Affine& index) {
    return index.FactorOf(symbol) != 0;
  });
}

// Whether each index is one of the loops, or 0: inside of its axis.
bool ArePlain(const Indices& indices) {
  return absl::c_all_of(indices, [](const Affine& index) {
    const auto& terms = index.terms();
    return index.offset() == 0 &&
           (terms.empty() || (terms.size() == 1 && terms[0].factor == 1));
  });
}

// The gather without the loop over the index.
GatherIndices Without(GatherIndices gather, int32_t loop) {
  gather.extents.erase(gather.extents.begin() + loop);
  auto renumbered = [&](Symbol symbol) {
    symbol.number -= symbol.number > loop ? 1 : 0;
    return Affine(symbol);
  };
  for (Indices* indices : {&gather.lhs, &gather.table, &gather.ids}) {
    for (Affine& index : *indices) index = index.Substitute(renumbered);
  }
  return gather;
}

}  // namespace

std::vector<int32_t> GatherIndices::RowMajor() const {
  std::vector<int32_t> order;
  auto add = [&](int32_t loop) {
    if (!absl::c_linear_search(order, loop)) order.push_back(loop);
  };
  for (const Indices* indices : {&ids, &table}) {
    for (const Affine& index : *indices) {
      if (!index.is_constant()) add(index.terms()[0].symbol.number);
    }
  }
  for (size_t k = 0; k < extents.size(); ++k) add(static_cast<int32_t>(k));
  return order;
}

std::optional<GatherIndices> FindGather(
    const Shapes& shapes, const ComputeSource& source,
    absl::Span<const ProjectedPiece> pieces) {
  if (pieces.size() != 1 || pieces[0].operands.size() != 3) return std::nullopt;
  const Projections& all = pieces[0].projections;
  GatherIndices gather{.extents = all.extents,
                       .lhs = all.lhs,
                       .table = all.operands[1],
                       .axis = -1,
                       .ids = all.operands[0]};
  const Shape& chosen = shapes.at(source.operands[0]);
  Dims rest = chosen.dims();
  const size_t last =
      chosen[RowKind::kBatch].size() + chosen[RowKind::kOutput].size() - 1;
  const int64_t size = rest[last];
  const Affine index = gather.ids[last];
  rest.erase(rest.begin() + static_cast<int64_t>(last));
  gather.ids.erase(gather.ids.begin() + static_cast<int64_t>(last));
  const Dims& dims = shapes.at(source.operands[1]).dims();
  for (size_t axis = 0; axis < dims.size() && gather.axis < 0; ++axis) {
    if (dims[axis] == size && gather.table[axis] == index) {
      gather.axis = static_cast<int32_t>(axis);
    }
  }
  if (gather.axis < 0 || shapes.at(source.gathers->ids).dims() != rest) {
    return std::nullopt;
  }
  gather.table[gather.axis] = 0;
  if (!ArePlain({index}) || !ArePlain(gather.lhs) || !ArePlain(gather.table) ||
      !ArePlain(gather.ids)) {
    return std::nullopt;
  }
  if (index.is_constant()) return gather;  // of one cell
  const Symbol loop = index.terms()[0].symbol;
  if (Mentions(gather.lhs, loop) || Mentions(gather.table, loop) ||
      Mentions(gather.ids, loop)) {
    return std::nullopt;
  }
  return Without(std::move(gather), loop.number);
}

}  // namespace ocannl
