// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/projections.h"

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

bool IsBijective(absl::Span<const int64_t> extents, const Indices& indices,
                 absl::Span<const int64_t> dims) {
  if (!IsSurjective(extents, indices, dims)) return false;
  for (size_t k = 0; k < extents.size(); ++k) {
    bool occurs = extents[k] == 1;
    for (const Affine& index : indices) {
      occurs = occurs || index.FactorOf(Iterator(k)) != 0;
    }
    if (!occurs) return false;
  }
  return true;
}

}  // namespace ocannl
