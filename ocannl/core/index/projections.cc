// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/projections.h"

#include <optional>
#include <utility>

namespace ocannl {
namespace {

// How many contiguous cells from its offset on `index` reaches, each once, if
// those are all: the cells of i, or of 4*i + j where j has 4. Marks its loops
// as used.
std::optional<int64_t> CellsInARow(const Affine& index,
                                   const LoopExtents& extents,
                                   IdVector<IteratorId, bool>& used) {
  int64_t cells = 1;
  for (const Affine::Term& term : index.TermsByFactor()) {
    if (term.symbol.kind != Symbol::kIterator) return std::nullopt;
    const IteratorId loop = term.symbol.iterator();
    if (extents[loop] == 1) continue;
    if (term.factor != cells || used[loop] ||
        __builtin_mul_overflow(cells, extents[loop], &cells)) {
      return std::nullopt;
    }
    used[loop] = true;
  }
  return cells;
}

}  // namespace

bool IsSurjective(const LoopExtents& extents, const Indices& indices,
                  absl::Span<const int64_t> dims) {
  IdVector<IteratorId, bool> used(extents.size(), false);
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    if (indices[axis].offset() != 0 ||
        CellsInARow(indices[axis], extents, used) != dims[axis]) {
      return false;
    }
  }
  return true;
}

namespace {

// The cells from `first`, `size` of them on each axis.
struct Box {
  absl::InlinedVector<int64_t, 4> first, size;
};

// What the loops reach through `lhs`, if that is in an array of `dims` and each
// cell of it once.
std::optional<Box> BoxOf(const LoopExtents& extents, const Indices& lhs,
                         absl::Span<const int64_t> dims) {
  IdVector<IteratorId, bool> used(extents.size(), false);
  Box box;
  for (size_t axis = 0; axis < lhs.size(); ++axis) {
    const int64_t first = lhs[axis].offset();
    std::optional<int64_t> size = CellsInARow(lhs[axis], extents, used);
    if (!size || first < 0 || first + *size > dims[axis]) return std::nullopt;
    box.first.push_back(first);
    box.size.push_back(*size);
  }
  for (IteratorId k : used.ids()) {
    if (!used[k] && extents[k] != 1) return std::nullopt;
  }
  return box;
}

bool AreApart(const Box& a, const Box& b) {
  for (size_t axis = 0; axis < a.first.size(); ++axis) {
    if (a.first[axis] + a.size[axis] <= b.first[axis]) return true;
    if (b.first[axis] + b.size[axis] <= a.first[axis]) return true;
  }
  return false;
}

// Modulo 2^64, so that no size is too large.
uint64_t Product(absl::Span<const int64_t> factors) {
  uint64_t product = 1;
  for (int64_t factor : factors) product *= static_cast<uint64_t>(factor);
  return product;
}

}  // namespace

bool IsPartition(absl::Span<const Projections> pieces,
                 absl::Span<const int64_t> dims) {
  std::vector<Box> boxes;
  uint64_t cells = 0;
  for (const Projections& piece : pieces) {
    std::optional<Box> box = BoxOf(piece.extents, piece.lhs, dims);
    if (!box) return false;
    for (const Box& other : boxes) {
      if (!AreApart(*box, other)) return false;
    }
    cells += Product(box->size);
    boxes.push_back(*std::move(box));
  }
  return cells == Product(dims);
}

bool IsBijective(const LoopExtents& extents, const Indices& indices,
                 absl::Span<const int64_t> dims) {
  const std::optional<Box> box = BoxOf(extents, indices, dims);
  return box && Product(box->size) == Product(dims);
}

}  // namespace ocannl
