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
#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
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

Naming NameAxes(const Shapes& shapes, TensorId id, const EinsumSpec& spec,
                absl::Span<const TensorId> operands) {
  Naming naming;
  int place = 0;
  for (size_t i = 0; i < operands.size(); ++i, place += 3) {
    naming.operands.push_back(
        NameSlot(shapes.at(operands[i]), spec.operands[i], place));
  }
  naming.result = NameSlot(shapes.at(id), spec.result, place);
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

// Projects a tensor without a spec: rows of one number have one loop for each
// axis, counted from the right, because that is how they pair up.
class RowProjector {
 public:
  // The number of each row of a shape. Those of compositions have kReduced.
  using Rows = std::array<int, 3>;
  static constexpr int kReduced = 3;
  static constexpr Rows kEqual = {0, 1, 2};

  // Before any index: which axes have more than one cell.
  void See(const Shape& shape, const Rows& rows) {
    ForEach(shape, rows,
            [](Axis& axis, int64_t size) { axis.is_wide |= size != 1; });
  }

  Indices IndicesOf(const Shape& shape, const Rows& rows) {
    Indices indices;
    ForEach(shape, rows, [&](Axis& axis, int64_t size) {
      if (size == 1 && axis.is_wide) {
        indices.emplace_back(0);
        return;
      }
      if (!axis.loop.valid()) {
        axis.loop = extents_.next_id();
        extents_.push_back(size);
      }
      indices.push_back(Iterator(axis.loop));
    });
    return indices;
  }

  LoopExtents extents() && { return std::move(extents_); }

 private:
  struct Axis {
    bool is_wide = false;
    IteratorId loop;  // none yet: not valid
  };

  void ForEach(const Shape& shape, const Rows& rows,
               absl::FunctionRef<void(Axis&, int64_t)> visit) {
    for (RowKind kind : kRowKinds) {
      auto& axes = axes_[rows[static_cast<int>(kind)]];
      const Dims& sizes = shape[kind];
      if (axes.size() < sizes.size()) axes.resize(sizes.size());
      for (size_t k = 0; k < sizes.size(); ++k) {
        visit(axes[sizes.size() - 1 - k], sizes[k]);
      }
    }
  }

  std::array<absl::InlinedVector<Axis, 4>, 4> axes_;  // the last one first
  LoopExtents extents_;
};

Projections ProjectRows(const Shapes& shapes, TensorId id,
                        const TensorSource& source) {
  using Rows = RowProjector::Rows;
  constexpr int kReduced = RowProjector::kReduced;
  const bool composes = std::holds_alternative<ComputeSource::Compose>(
      std::get<ComputeSource>(source).logic);
  const absl::Span<const TensorId> operands = OperandsOf(source);
  auto rows_of = [&](size_t operand) {
    return !composes      ? RowProjector::kEqual
           : operand == 0 ? Rows{0, 1, kReduced}
                          : Rows{0, kReduced, 2};
  };
  RowProjector projector;
  const Shape& result = shapes.at(id);
  projector.See(result, RowProjector::kEqual);
  for (size_t k = 0; k < operands.size(); ++k) {
    projector.See(shapes.at(operands[k]), rows_of(k));
  }
  Projections projections;
  projections.lhs = projector.IndicesOf(result, RowProjector::kEqual);
  projections.operands.reserve(operands.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    projections.operands.push_back(
        projector.IndicesOf(shapes.at(operands[k]), rows_of(k)));
  }
  projections.extents = std::move(projector).extents();
  return projections;
}

// Whether the tensor is pointwise and all have one cell and the same axes, so
// that there is no loop.
bool IsOfOneCell(const Shapes& shapes, TensorId id,
                 const TensorSource& source) {
  const auto* compute = std::get_if<ComputeSource>(&source);
  if (compute == nullptr ||
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
Projections OneCell(const Shape& shape, size_t operands) {
  Projections projections;
  projections.lhs.assign(
      shape.rows[0].size() + shape.rows[1].size() + shape.rows[2].size(),
      Affine(0));
  projections.operands.assign(operands, projections.lhs);
  return projections;
}

std::vector<int> AllOf(absl::Span<const TensorId> operands) {
  std::vector<int> all(operands.size());
  absl::c_iota(all, 0);
  return all;
}

// The pieces of a tensor with a spec.
std::vector<EinsumPiece> PiecesOf(const TensorSource& source) {
  const auto* compute = std::get_if<ComputeSource>(&source);
  if (compute == nullptr) return {{{}, AllOf(OperandsOf(source))}};
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
  const absl::Span<const TensorId> operands = OperandsOf(source);
  std::vector<ProjectedPiece> projected;
  const EinsumSpec* const spec = SpecOf(source);
  if (spec == nullptr) {
    projected.push_back({IsOfOneCell(shapes, id, source)
                             ? OneCell(shapes.at(id), operands.size())
                             : ProjectRows(shapes, id, source),
                         AllOf(operands)});
    return projected;
  }
  Naming naming = NameAxes(shapes, id, *spec, operands);
  // The sliced axis has no loop.
  const auto* slice = std::get_if<SliceSource>(&source);
  if (slice != nullptr) naming.operands[0][0] = EinsumAxis();
  static const auto* const no_sizes = new NameSizes();
  auto names = shapes.names.find(id);
  const NameSizes& sizes =
      names == shapes.names.end() ? *no_sizes : names->second;
  const Dims dims = shapes.at(id).dims();
  for (EinsumPiece& piece : PiecesOf(source)) {
    if (IsEmpty(piece, naming, sizes)) continue;
    Projector projector(sizes, piece);
    projector.See(naming.result, dims);
    for (int k : piece.operands) {
      projector.See(naming.operands[k], shapes.at(operands[k]).dims());
    }
    Projections projections;
    projections.lhs = projector.IndicesOf(naming.result, dims);
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
