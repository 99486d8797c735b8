// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/injective.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ocannl {
namespace {

// The cells that an index reaches lie in [first, end).
struct Interval {
  int64_t first, end;
};
using Hull = std::vector<Interval>;

// Where the values of `index` lie, if no two values of its loops give the same:
// each term is as large as what the smaller ones reach together. Marks its
// loops as used.
std::optional<Interval> Reached(const Affine& index, const LoopExtents& extents,
                                IdVector<IteratorId, bool>& used) {
  int64_t reach = 1;
  for (const Affine::Term& term : index.TermsByFactor()) {
    if (term.symbol.kind != Symbol::kIterator) return std::nullopt;
    const IteratorId loop = term.symbol.iterator();
    if (extents[loop] == 1) continue;
    int64_t span;
    if (term.factor < reach || used[loop] ||
        __builtin_mul_overflow(term.factor, extents[loop] - 1, &span) ||
        __builtin_add_overflow(reach, span, &reach)) {
      return std::nullopt;
    }
    used[loop] = true;
  }
  return Interval{index.offset(), index.offset() + reach};
}

std::optional<Hull> HullOf(const Projections& piece) {
  IdVector<IteratorId, bool> used(piece.extents.size(), false);
  Hull hull;
  for (const Affine& index : piece.lhs) {
    const auto reached = Reached(index, piece.extents, used);
    if (!reached) return std::nullopt;
    hull.push_back(*reached);
  }
  for (IteratorId loop : used.ids()) {
    if (!used[loop] && piece.extents[loop] != 1) return std::nullopt;
  }
  return hull;
}

bool AreDisjoint(const Hull& a, const Hull& b) {
  for (size_t axis = 0; axis < a.size(); ++axis) {
    if (a[axis].end <= b[axis].first || b[axis].end <= a[axis].first) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsInjective(absl::Span<const Projections> pieces) {
  std::vector<Hull> hulls;
  for (const Projections& piece : pieces) {
    const std::optional<Hull> hull = HullOf(piece);
    if (!hull) return false;
    for (const Hull& other : hulls) {
      if (!AreDisjoint(*hull, other)) return false;
    }
    hulls.push_back(*hull);
  }
  return true;
}

}  // namespace ocannl
