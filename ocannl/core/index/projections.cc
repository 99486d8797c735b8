// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/projections.h"

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"

namespace ocannl {
namespace {

// How many contiguous cells from its offset on `index` reaches, each once, if
// those are all: the cells of i, or of 4*i + j where j has 4. Marks its loops
// as used.
std::optional<int64_t> CellsInARow(const Affine& index,
                                   const LoopExtents& extents,
                                   IdVector<IteratorId, bool>& used) {
  auto terms = index.terms();
  absl::c_sort(terms, [](const Affine::Term& a, const Affine::Term& b) {
    return a.factor < b.factor;
  });
  int64_t cells = 1;
  for (const Affine::Term& term : terms) {
    const IteratorId loop = term.symbol.iterator();
    if (term.symbol.kind != Symbol::kIterator || term.factor != cells ||
        used[loop] || __builtin_mul_overflow(cells, extents[loop], &cells)) {
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
  std::vector<int64_t> first, size;
};

// What the loops reach through `lhs`, if each cell of it once.
std::optional<Box> BoxOf(const Projections& p) {
  IdVector<IteratorId, bool> used(p.extents.size(), false);
  Box box;
  for (const Affine& index : p.lhs) {
    box.first.push_back(index.offset());
    std::optional<int64_t> size = CellsInARow(index, p.extents, used);
    if (!size) return std::nullopt;
    box.size.push_back(*size);
  }
  for (IteratorId k : used.ids()) {
    if (!used[k] && p.extents[k] != 1) return std::nullopt;
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
    std::optional<Box> box = BoxOf(piece);
    if (!box) return false;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (box->first[axis] < 0 ||
          box->first[axis] + box->size[axis] > dims[axis]) {
        return false;
      }
    }
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
  return IsPartition({{.extents = extents, .lhs = indices, .operands = {}}},
                     dims);
}

}  // namespace ocannl
