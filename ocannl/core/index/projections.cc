// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/projections.h"

#include <optional>
#include <utility>

namespace ocannl {

bool IsSurjective(absl::Span<const int64_t> extents, const Indices& indices,
                  absl::Span<const int64_t> dims) {
  std::vector<bool> used(extents.size(), false);
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    const Affine& index = indices[axis];
    if (index.is_constant()) {
      if (dims[axis] != 1) return false;
      continue;
    }
    const Affine::Term& term = index.terms()[0];
    bool whole = index.terms().size() == 1 && index.offset() == 0 &&
                 term.factor == 1 && term.symbol.kind == Symbol::kIterator &&
                 extents[term.symbol.number] == dims[axis] &&
                 !used[term.symbol.number];
    if (!whole) return false;
    used[term.symbol.number] = true;
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
  std::vector<bool> used(p.extents.size(), false);
  Box box;
  for (const Affine& index : p.lhs) {
    box.first.push_back(index.offset());
    box.size.push_back(1);
    if (index.is_constant()) continue;
    const Affine::Term& term = index.terms()[0];
    const int32_t loop = term.symbol.number;
    bool plain = index.terms().size() == 1 && term.factor == 1 &&
                 term.symbol.kind == Symbol::kIterator && !used[loop];
    if (!plain) return std::nullopt;
    used[loop] = true;
    box.size.back() = p.extents[loop];
  }
  for (size_t k = 0; k < used.size(); ++k) {
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

bool IsTiling(absl::Span<const Projections> pieces,
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

bool IsBijective(absl::Span<const int64_t> extents, const Indices& indices,
                 absl::Span<const int64_t> dims) {
  std::vector<int64_t> all(extents.begin(), extents.end());
  return IsTiling({{.extents = std::move(all), .lhs = indices, .operands = {}}},
                  dims);
}

}  // namespace ocannl
