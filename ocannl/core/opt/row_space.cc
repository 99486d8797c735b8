// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/row_space.h"

#include <tuple>
#include <variant>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

using Chain = std::vector<const For*>;

// The `for` loop of the chain; null: another symbol.
const For* LoopOf(const Chain& chain, Symbol symbol) {
  if (symbol.kind != Symbol::kIterator) return nullptr;
  for (const For* loop : chain) {
    if (loop->iterator == symbol.iterator() && loop->kind == LoopKind::kFor) {
      return loop;
    }
  }
  return nullptr;
}

// The loops of which `index`, of an axis with rows, is.
std::optional<RowLoops> RowsOf(const Chain& chain, const Affine& index,
                               const RowAxis& axis) {
  const auto& terms = index.terms();
  if (terms.empty() || terms.size() > 2) return std::nullopt;
  const bool is_fine_first = terms[0].factor == 1;
  const Affine::Term& last = terms[is_fine_first ? 0 : terms.size() - 1];
  const For* loop = LoopOf(chain, last.symbol);
  if (loop == nullptr || last.factor != 1) return std::nullopt;
  RowLoops rows{.grain = axis.grain,
                .offset = axis.offset + axis.grain * index.offset(),
                .count = axis.grain * loop->extent};
  if (terms.size() == 1) {
    (axis.grain > 1 ? rows.coarse : rows.fine) = loop->iterator;
    return rows;
  }
  const Affine::Term& first = terms[is_fine_first ? 1 : 0];
  const For* outer = LoopOf(chain, first.symbol);
  if (axis.grain > 1 || outer == nullptr || first.factor != loop->extent) {
    return std::nullopt;
  }
  rows.coarse = outer->iterator;
  rows.fine = loop->iterator;
  rows.grain = loop->extent;
  rows.count *= outer->extent;
  return rows;
}

// Whether the access touches cells of its own row alone, if `axis` has rows.
bool IsOfRow(const Reference& reference, const RowAxis& axis,
             const RowLoops& rows) {
  if (reference.access == nullptr ||
      reference.any_axis() == static_cast<int>(axis.axis)) {
    return false;
  }
  Affine index = axis.grain * reference.access->indices[axis.axis];
  index.AddOffset(axis.offset);
  Affine row = rows.offset;
  if (rows.coarse.valid()) row.AddScaled(rows.grain, Iterator(rows.coarse));
  if (axis.grain > 1) return axis.grain == rows.grain && index == row;
  if (!rows.fine.valid()) return false;
  row.AddScaled(1, Iterator(rows.fine));
  return index == row;
}

bool AreOfRow(const std::vector<const Reference*>& references,
              const RowAxis& axis, const RowLoops& rows) {
  return absl::c_all_of(references, [&](const Reference* reference) {
    return IsOfRow(*reference, axis, rows);
  });
}

// The axis on which the references have the statement's rows, or else its
// grains.
std::optional<RowAxis> FindAxis(const std::vector<const Reference*>& references,
                                const RowLoops& rows) {
  const Access* access = references[0]->access;
  if (access == nullptr) return std::nullopt;
  for (const bool is_fine : {true, false}) {
    if (!(is_fine ? rows.fine : rows.coarse).valid()) continue;
    for (size_t axis = 0; axis < access->indices.size(); ++axis) {
      RowAxis found{.axis = axis, .grain = is_fine ? 1 : rows.grain};
      found.offset = rows.offset - found.grain * access->indices[axis].offset();
      if (AreOfRow(references, found, rows)) return found;
    }
  }
  return std::nullopt;
}

// How many terms of a row each cell that the statement writes gets, if it gets
// them in the order of rows, those of a row one after the other.
std::optional<int64_t> TermsInOrder(const LoopProgram& program,
                                    const Stmt& stmt, const RowLoops& rows) {
  const std::optional<PerfectNest> nest = AsPerfectNest(program, stmt);
  if (!nest) return std::nullopt;
  size_t at = 0;
  for (IteratorId loop : {rows.coarse, rows.fine}) {
    if (!loop.valid() || MovesAlong(nest->set.target, loop)) continue;
    if (at == nest->reduced.size() || nest->reduced[at].iterator != loop) {
      return std::nullopt;
    }
    ++at;
  }
  int64_t terms = 1;
  for (; at < nest->reduced.size(); ++at) terms *= nest->reduced[at].extent;
  return terms;
}

}  // namespace

const RowAxis* RowSpace::AxisOf(BufferId buffer) const {
  const auto use = uses_.find(buffer);
  return use == uses_.end() || !use->second.axis ? nullptr : &*use->second.axis;
}

bool RowSpace::JoinZeroOut(BufferId buffer) {
  return uses_.try_emplace(buffer, Use{.is_written = true, .is_zero = true})
      .second;
}

// By the arrays that have rows, those of single rows first.
std::vector<RowLoops> RowSpace::FindRows(const Chain& chain,
                                         const Groups& groups) const {
  std::vector<RowLoops> found;
  for (const auto& [buffer, references] : groups) {
    const RowAxis* axis = AxisOf(buffer);
    if (axis == nullptr || references[0]->access == nullptr) continue;
    const std::optional<RowLoops> rows =
        RowsOf(chain, references[0]->access->indices[axis->axis], *axis);
    if (rows) found.push_back(*rows);
  }
  absl::c_sort(found, [](const RowLoops& a, const RowLoops& b) {
    return std::tuple(b.fine, b.coarse, b.offset) <
           std::tuple(a.fine, a.coarse, a.offset);
  });
  return found;
}

std::vector<RowLoops> RowSpace::GuessRows(
    const Chain& chain, const Groups& groups,
    absl::Span<const BufferId> arrays) const {
  std::vector<RowLoops> guesses;
  for (BufferId array : arrays) {
    const auto group = groups.find(array);
    if (group == groups.end()) continue;
    const Access* access = group->second[0]->access;
    const Dims& dims = program_->buffers[array].dims;
    for (size_t axis = 0; access != nullptr && axis < dims.size(); ++axis) {
      if (dims[axis] < 2 || (rows_ > 0 && dims[axis] != rows_)) continue;
      const std::optional<RowLoops> rows =
          RowsOf(chain, access->indices[axis], {.axis = axis});
      if (!rows || rows->offset != 0 || rows->count != dims[axis]) continue;
      guesses.push_back(*rows);
    }
  }
  return guesses;
}

bool RowSpace::FitsBuffer(const Stmt& stmt, BufferId buffer,
                          const std::vector<const Reference*>& references,
                          RowLoops& rows, Use& use) const {
  const bool writes =
      absl::c_any_of(references, [](const Reference* r) { return r->writes; });
  const auto known = uses_.find(buffer);
  const bool is_new = known == uses_.end() || known->second.is_zero;
  if (!is_new) use = known->second;
  if (!is_new && !writes && !use.is_written) return true;
  if (is_new && !writes) return known == uses_.end();
  if (is_new) {
    use.is_written = true;
    use.axis = FindAxis(references, rows);
  } else if (!use.axis || !AreOfRow(references, *use.axis, rows)) {
    return false;
  }
  if (use.axis && use.axis->grain == 1) return true;
  if (use.axis && rows.fine.valid() == std::exchange(use.has_rows, true)) {
    return false;
  }
  if (!writes) return true;
  const std::optional<int64_t> terms = TermsInOrder(*program_, stmt, rows);
  rows.row_terms = terms.value_or(0);
  return terms.has_value();
}

bool RowSpace::Fits(const Stmt& stmt, const Chain& chain, const Groups& groups,
                    RowLoops& rows, Uses& joined) const {
  const IteratorId inner = rows.fine.valid() ? rows.fine : rows.coarse;
  const For& loop = *LoopOf(chain, Iterator(inner));
  for (const auto& [buffer, references] : groups) {
    if (IsOfNest(program_->buffers[buffer].role)) {
      if (!IsPrivatizable(*program_, loop, buffer)) return false;
    } else if (!FitsBuffer(stmt, buffer, references, rows, joined[buffer])) {
      return false;
    }
  }
  return true;
}

std::optional<RowLoops> RowSpace::Join(const Stmt& stmt,
                                       absl::Span<const BufferId> arrays) {
  const For* outermost = std::get_if<For>(&stmt);
  if (outermost == nullptr) return std::nullopt;
  bool is_plain = true;
  WalkStmts(stmt, [&](const Stmt& each) {
    is_plain = is_plain && !std::holds_alternative<Scatter>(each) &&
               !std::holds_alternative<DeclareLocal>(each) &&
               !std::holds_alternative<SetLocal>(each);
  });
  if (!is_plain) return std::nullopt;
  const Chain chain = LoopChain(*outermost);
  const References references = ReferencesOf(*program_, stmt);
  Groups groups;
  for (const Reference& each : references.all) {
    groups[each.buffer].push_back(&each);
  }
  std::vector<RowLoops> candidates = FindRows(chain, groups);
  if (candidates.empty()) candidates = GuessRows(chain, groups, arrays);
  for (RowLoops rows : candidates) {
    // Such as the padding around the rows of an array.
    const bool has_others = rows.offset < 0 || rows.offset + rows.count > rows_;
    if (rows_ > 0 && has_others) continue;
    Uses joined;
    if (!Fits(stmt, chain, groups, rows, joined)) continue;
    for (auto& [buffer, use] : joined) uses_[buffer] = use;
    if (rows_ == 0) rows_ = rows.count;
    return rows;
  }
  return std::nullopt;
}

}  // namespace ocannl
