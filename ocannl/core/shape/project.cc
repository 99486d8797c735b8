// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/project.h"

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/shape/rules.h"
#include "ocannl/core/tensor/einsum/einsum_pieces.h"

namespace ocannl {
namespace {

// A name or a position for each axis of a tensor, in memory order: axes of one
// name have one loop.
using AxisNames = std::vector<EinsumAxis>;

using NameSizes = absl::flat_hash_map<std::string, int64_t>;

struct Naming {
  AxisNames result;
  std::vector<AxisNames> operands;
};

// Names axes from the right, because that is how they pair up.
void AppendRow(absl::string_view name, size_t rank, AxisNames& names) {
  for (size_t i = rank; i > 0; --i) {
    names.push_back({.name = absl::StrCat(name, i)});
  }
}

AxisNames NameRows(const Shape& shape,
                   const std::array<absl::string_view, 3>& rows) {
  AxisNames names;
  for (RowKind kind : kRowKinds) {
    AppendRow(rows[static_cast<int>(kind)], shape[kind].size(), names);
  }
  return names;
}

AxisNames NameSlot(const Shape& shape, const EinsumSlot& slot, int place) {
  AxisNames names;
  for (RowKind kind : kRowKinds) {
    int rank = static_cast<int>(shape[kind].size());
    for (EinsumAxis& axis :
         ExpandRow(slot[static_cast<int>(kind)], rank, place++)) {
      names.push_back(std::move(axis));
    }
  }
  return names;
}

Naming NameAxes(const Shapes& shapes, TensorId id, const TensorSource& source) {
  constexpr std::array<absl::string_view, 3> kRows = {"batch", "output",
                                                      "input"};
  Naming naming;
  const absl::Span<const TensorId> operands = OperandsOf(source);
  if (const EinsumSpec* spec = SpecOf(source)) {
    int place = 0;
    for (size_t i = 0; i < operands.size(); ++i, place += 3) {
      naming.operands.push_back(
          NameSlot(shapes.at(operands[i]), spec->operands[i], place));
    }
    naming.result = NameSlot(shapes.at(id), spec->result, place);
    return naming;
  }
  naming.result = NameRows(shapes.at(id), kRows);
  const auto& logic = std::get<ComputeSource>(source).logic;
  if (std::holds_alternative<ComputeSource::Compose>(logic)) {
    naming.operands = {
        NameRows(shapes.at(operands[0]), {"batch", "output", "reduced"}),
        NameRows(shapes.at(operands[1]), {"batch", "reduced", "input"})};
    return naming;
  }
  for (TensorId operand : operands) {
    naming.operands.push_back(NameRows(shapes.at(operand), kRows));
  }
  return naming;
}

class Projector {
 public:
  // `sizes` and `piece` must outlive the projector.
  Projector(const NameSizes& sizes, const EinsumPiece& piece)
      : sizes_(sizes), piece_(piece) {}

  // Before any index: which names have an axis of more than one cell.
  void See(const AxisNames& names, const Dims& dims) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].is_plain() && dims[i] != 1) wide_.insert(names[i].name);
    }
  }

  // The index of each axis; a name that is new gets the next loop.
  Indices IndicesOf(const AxisNames& names, const Dims& dims) {
    Indices indices;
    for (size_t i = 0; i < names.size(); ++i) {
      const EinsumAxis& axis = names[i];
      if (axis.is_position()) {
        indices.emplace_back(axis.position);
      } else if (axis.is_plain()) {
        indices.push_back(Loop(axis.name, dims[i]));
      } else {
        indices.push_back(Computed(axis, dims[i]));
      }
    }
    return indices;
  }

  const LoopExtents& extents() const { return extents_; }

 private:
  // The part that is there, behind those in front of it.
  Affine PartOf(const EinsumAxis& axis) {
    int64_t start = 0;
    for (const std::string& part : axis.parts) {
      const int64_t size = sizes_.at(part);
      if (!piece_.left_out.contains(part)) return Loop(part, size) + start;
      start += size;
    }
    CHECK(false) << "no part is taken of " << ocannl::ToString(axis);
    __builtin_unreachable();
  }

  Affine Computed(const EinsumAxis& axis, int64_t size) {
    if (!axis.parts.empty()) return PartOf(axis);
    Affine index =
        axis.stride * Loop(axis.name, sizes_.at(axis.name)) + axis.offset;
    if (axis.kernel.empty()) return index;
    const int64_t window = sizes_.at(axis.kernel);
    index += axis.dilation * Loop(axis.kernel, window);
    return index + -axis.Before(window, sizes_.at(axis.name), size);
  }

  Affine Loop(const std::string& name, int64_t size) {
    if (size == 1 && wide_.contains(name)) return 0;
    auto [at, is_new] = loops_.try_emplace(name, extents_.next_id());
    if (is_new) extents_.push_back(size);
    return Iterator(at->second);
  }

  const NameSizes& sizes_;
  const EinsumPiece& piece_;
  absl::flat_hash_set<std::string> wide_;
  LoopExtents extents_;
  absl::flat_hash_map<std::string, IteratorId> loops_;
};

// Whether the tensor is pointwise and all have one cell and the same axes, so
// that there is no loop, and no spec tells more than one piece.
bool IsOfOneCell(const Shapes& shapes, TensorId id,
                 const TensorSource& source) {
  const auto* compute = std::get_if<ComputeSource>(&source);
  if (compute == nullptr || compute->spec() != nullptr ||
      std::holds_alternative<ComputeSource::Compose>(compute->logic)) {
    return false;
  }
  const Shape& shape = shapes.at(id);
  const bool is_one_cell = absl::c_all_of(shape.rows, [](const Dims& row) {
    return absl::c_all_of(row, [](int64_t size) { return size == 1; });
  });
  return is_one_cell && absl::c_all_of(compute->operands, [&](TensorId k) {
           return shapes.at(k).rows == shape.rows;
         });
}

// The projections of such a tensor.
ProjectedPiece OneCell(const Shape& shape, size_t operands) {
  const Indices first(
      shape.rows[0].size() + shape.rows[1].size() + shape.rows[2].size(),
      Affine(0));
  ProjectedPiece piece;
  piece.projections.lhs = first;
  piece.projections.operands.assign(operands, first);
  for (size_t k = 0; k < operands; ++k) {
    piece.operands.push_back(static_cast<int>(k));
  }
  return piece;
}

std::vector<EinsumPiece> PiecesOf(const TensorSource& source) {
  EinsumPiece all;
  for (size_t k = 0; k < OperandsOf(source).size(); ++k) {
    all.operands.push_back(static_cast<int>(k));
  }
  const auto* compute = std::get_if<ComputeSource>(&source);
  if (compute == nullptr || compute->spec() == nullptr) return {all};
  auto pieces =
      PiecesOf(*compute->spec(), /*one_at_a_time=*/!compute->has_op());
  CHECK_OK(pieces.status());
  return *std::move(pieces);
}

// Whether some part that the piece takes has no cells.
bool IsEmpty(const EinsumPiece& piece, const Naming& naming,
             const NameSizes& sizes) {
  auto is_empty = [&](const EinsumAxis& axis) {
    return absl::c_any_of(axis.parts, [&](const std::string& part) {
      return !piece.left_out.contains(part) && sizes.at(part) == 0;
    });
  };
  return absl::c_any_of(naming.result, is_empty) ||
         absl::c_any_of(piece.operands, [&](int k) {
           return absl::c_any_of(naming.operands[k], is_empty);
         });
}

}  // namespace

std::vector<ProjectedPiece> ProjectPieces(const Graph& graph,
                                          const Shapes& shapes, TensorId id) {
  const TensorSource& source = graph[id].source;
  std::vector<ProjectedPiece> projected;
  if (IsOfOneCell(shapes, id, source)) {
    projected.push_back(OneCell(shapes.at(id), OperandsOf(source).size()));
    return projected;
  }
  Naming naming = NameAxes(shapes, id, source);
  // The sliced axis has no loop.
  const auto* slice = std::get_if<SliceSource>(&source);
  if (slice != nullptr) naming.operands[0][0] = EinsumAxis();
  const absl::Span<const TensorId> operands = OperandsOf(source);
  static const auto* const no_sizes = new NameSizes();
  auto names = shapes.names.find(id);
  const NameSizes& sizes =
      names == shapes.names.end() ? *no_sizes : names->second;
  for (EinsumPiece& piece : PiecesOf(source)) {
    if (IsEmpty(piece, naming, sizes)) continue;
    Projector projector(sizes, piece);
    projector.See(naming.result, shapes.at(id).dims());
    for (int k : piece.operands) {
      projector.See(naming.operands[k], shapes.at(operands[k]).dims());
    }
    Projections projections;
    projections.lhs = projector.IndicesOf(naming.result, shapes.at(id).dims());
    for (int k : piece.operands) {
      projections.operands.push_back(projector.IndicesOf(
          naming.operands[k], shapes.at(operands[k]).dims()));
    }
    if (slice != nullptr) {
      projections.operands[0][0] = Affine(Static(slice->static_index));
    }
    projections.extents = projector.extents();
    projected.push_back({std::move(projections), std::move(piece.operands)});
  }
  return projected;
}

Projections Project(const Graph& graph, const Shapes& shapes, TensorId id) {
  std::vector<ProjectedPiece> pieces = ProjectPieces(graph, shapes, id);
  CHECK_EQ(pieces.size(), 1u);
  return std::move(pieces[0].projections);
}

}  // namespace ocannl
