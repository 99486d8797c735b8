// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/must_write.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// Whether an iteration of the loop loses what private buffers hold.
bool HasPar(const For& loop) {
  auto is_par = [](const For& one) {
    return one.kind == LoopKind::kPar || one.kind == LoopKind::kGrid;
  };
  bool has = is_par(loop);
  WalkLoops(loop.body, [&](const For& inner) { has |= is_par(inner); });
  return has;
}

}  // namespace

MustWriteRegions::MustWriteRegions(const LoopProgram& program)
    : program_(program), scopes_(1) {}

void MustWriteRegions::Enter(const For& loop) {
  if (!privates_.empty() && HasPar(loop)) ForgetPrivate();
  extents_[loop.iterator] = loop.extent;
  scopes_.push_back({.loop = &loop, .buffers = {}});
}

void MustWriteRegions::Leave() {
  if (!privates_.empty() && HasPar(*scopes_.back().loop)) ForgetPrivate();
  const Scope ended = std::move(scopes_.back());
  scopes_.pop_back();
  for (BufferId buffer : ended.buffers) {
    std::vector<Written>& all = Of(buffer);
    std::vector<Box> boxes;  // the last one first
    for (; !all.empty() && all.back().depth > scopes_.size(); all.pop_back()) {
      boxes.push_back(std::move(all.back().box));
    }
    for (; !boxes.empty(); boxes.pop_back()) {
      Project(*ended.loop, boxes.back());
      Add(buffer, std::move(boxes.back()));
    }
  }
}

MustWriteRegions::Box MustWriteRegions::BoxOf(const Access& cell) const {
  Box box;
  box.reserve(cell.indices.size());
  for (const Affine& index : cell.indices) {
    Affine first = index;
    // What is always 0 would keep boxes apart.
    for (const auto& [symbol, factor] : index.terms()) {
      if (Range(symbol) == 1) first.AddScaled(-factor, symbol);
    }
    box.emplace_back(first);
  }
  return box;
}

// Whether what is written to the buffer here stays so to the end.
bool MustWriteRegions::IsForGood(BufferId buffer) const {
  return scopes_.size() == 1 && !IsOfNest(program_.buffers[buffer].role);
}

void MustWriteRegions::SetWhole(BufferId buffer) {
  if (buffer >= whole_.next_id()) whole_.resize(program_.buffers.size());
  whole_[buffer] = true;
}

void MustWriteRegions::Write(const Access& cell) {
  if (IsWhole(cell.buffer)) return;
  if (IsForGood(cell.buffer) &&
      NumElements(program_.buffers[cell.buffer].dims) == 1) {
    SetWhole(cell.buffer);
    return;
  }
  Add(cell.buffer, BoxOf(cell));
}

void MustWriteRegions::WriteAll(BufferId buffer) {
  if (IsWhole(buffer)) return;
  if (IsForGood(buffer)) {
    SetWhole(buffer);
    return;
  }
  Add(buffer, Everything(buffer));
}

bool MustWriteRegions::Covers(const Access& cell) const {
  return IsWhole(cell.buffer) || CoversBox(cell.buffer, BoxOf(cell));
}

bool MustWriteRegions::Covers(const Lookup& lookup) const {
  const BufferId buffer = lookup.cell.buffer;
  if (IsWhole(buffer)) return true;
  Box box = BoxOf(lookup.cell);  // from 0 on the axis
  box[lookup.axis] = Lmad(0, program_.buffers[buffer].dims[lookup.axis]);
  return CoversBox(buffer, box);
}

bool MustWriteRegions::CoversAll(BufferId buffer) const {
  return IsWhole(buffer) || CoversBox(buffer, Everything(buffer));
}

MustWriteRegions::Box MustWriteRegions::Everything(BufferId buffer) const {
  Box box;
  for (int64_t dim : program_.buffers[buffer].dims) box.emplace_back(0, dim);
  return box;
}

bool MustWriteRegions::CoversBox(BufferId buffer, const Box& box) const {
  const auto boxes = boxes_.find(buffer);
  int steps = 1000;  // then the answer is the conservative one
  return boxes != boxes_.end() &&
         CoveredBy(boxes->second, box, /*cuts=*/box.size(), steps);
}

// Whether several boxes cover one together, which is cut along up to `cuts`
// axes: the parts that no box holds are covered along others.
bool MustWriteRegions::CoveredBy(absl::Span<const Written> written,
                                 const Box& box, size_t cuts,
                                 int& steps) const {
  if (absl::c_any_of(written, [&](const Written& one) {
        return Contains(one.box, box);
      })) {
    return true;
  }
  if (written.size() < 2 || cuts == 0 || --steps < 0) return false;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    if (CoveredAlong(axis, written, box, cuts - 1, steps)) return true;
  }
  return false;
}

// Whether parts along the axis cover the box. They may be of inner and outer
// scopes, which Join keeps apart.
bool MustWriteRegions::CoveredAlong(size_t axis,
                                    absl::Span<const Written> written,
                                    const Box& box, size_t cuts,
                                    int& steps) const {
  Lmad all = box[axis];  // for all values of what only this axis depends on
  const Affine first = all.first();
  for (const Affine::Term& term : first.terms()) {
    const auto axes = absl::c_count_if(box, [&](const Lmad& places) {
      return places.first().FactorOf(term.symbol) != 0;
    });
    if (axes == 1) all.Project(term.symbol, Range(term.symbol));
  }
  std::vector<std::pair<int64_t, int64_t>> parts;  // begin and end in its reach
  Box part = box;
  for (const Written& one : written) {
    const Lmad& places = one.box[axis];
    const Affine shift = places.first() + -1 * all.first();
    if (!shift.is_constant() || !places.is_interval()) continue;
    part[axis] = places;
    if (!Contains(one.box, part)) continue;
    const int64_t begin = shift.offset();
    const int64_t end = begin + places.reach();
    if (begin < all.reach() && end > 0) parts.emplace_back(begin, end);
  }
  if (parts.empty()) return false;
  parts.emplace_back(all.reach(), all.reach());
  absl::c_sort(parts);
  int64_t covered = 0;
  for (const auto& [begin, end] : parts) {
    if (begin > covered) {
      part[axis] = Lmad(all.first() + Affine(covered),
                        std::min(begin, all.reach()) - covered);
      if (!CoveredBy(written, part, cuts, steps)) return false;
    }
    covered = std::max(covered, end);
    if (covered >= all.reach()) break;
  }
  return true;
}

int64_t MustWriteRegions::Range(Symbol symbol) const {
  return symbol.kind == Symbol::kStatic ? program_.statics[symbol.number].range
                                        : extents_.at(symbol.iterator());
}

bool MustWriteRegions::Contains(const Box& outer, const Box& inner) const {
  auto range = [&](Symbol symbol) { return Range(symbol); };
  for (size_t axis = 0; axis < outer.size(); ++axis) {
    if (!outer[axis].Contains(inner[axis], range)) return false;
  }
  return true;
}

// Whether `inner` is in `outer`, at one place whatever values the symbols have.
// A box that only stays in another, as 0 to 5 in s to s + 5 where s is 0, may
// still join its neighbours, which the other cannot.
bool MustWriteRegions::Holds(const Box& outer, const Box& inner) {
  for (size_t axis = 0; axis < outer.size(); ++axis) {
    if (!outer[axis].Holds(inner[axis])) return false;
  }
  return true;
}

// Projects the iterator of the loop, which has ended, out of the box, if the
// union over its iterations is a box: if one axis depends on it.
void MustWriteRegions::Project(const For& loop, Box& box) {
  const Symbol symbol = Iterator(loop.iterator);
  const auto axes = absl::c_count_if(box, [&](const Lmad& places) {
    return places.first().FactorOf(symbol) != 0;
  });
  if (axes > 1 && loop.extent > 1) return;
  for (Lmad& places : box) places.Project(symbol, loop.extent);
}

// Makes `box` the union of both, if that is a box: they differ on one axis
// only, and touch there.
bool MustWriteRegions::Join(const Box& other, Box& box) {
  Lmad* joined = nullptr;
  const Lmad* by = nullptr;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    if (box[axis] == other[axis]) continue;
    if (joined != nullptr) return false;
    joined = &box[axis];
    by = &other[axis];
  }
  return joined == nullptr || joined->Join(*by);
}

std::vector<MustWriteRegions::Written>& MustWriteRegions::Of(BufferId buffer) {
  const auto [boxes, is_new] = boxes_.try_emplace(buffer);
  if (is_new && IsOfNest(program_.buffers[buffer].role)) {
    privates_.push_back(buffer);
  }
  return boxes->second;
}

void MustWriteRegions::Add(BufferId buffer, Box box) {
  std::vector<Written>& all = Of(buffer);
  size_t first = all.size();  // of this scope
  while (first > 0 && all[first - 1].depth == scopes_.size()) --first;
  if (first == all.size()) scopes_.back().buffers.push_back(buffer);
  for (size_t k = first; k < all.size();) {
    if (Holds(all[k].box, box)) return;
    if (Holds(box, all[k].box) || Join(all[k].box, box)) {
      std::swap(all[k], all.back());
      all.pop_back();
      k = first;  // the greater box may now touch one that was passed
    } else {
      ++k;
    }
  }
  all.push_back({.depth = scopes_.size(), .box = std::move(box)});
}

void MustWriteRegions::ForgetPrivate() {
  for (BufferId buffer : privates_) boxes_.erase(buffer);
  privates_.clear();
}

namespace {

// A walk over the program that finds what is read or left before it is written.
class UnwrittenFinder {
 public:
  UnwrittenFinder(absl::Span<const BufferId> buffers, LoopProgram& program)
      : buffers_(buffers), program_(program), written_(program) {}

  void Visit(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      WalkLeaves(program_, stmt, [&](const LeafValue& leaf) { Read(leaf); });
      if (const auto* loop = std::get_if<For>(&stmt)) {
        written_.Enter(*loop);
        Visit(loop->body);
        written_.Leave();
      } else if (const auto* set = std::get_if<Set>(&stmt)) {
        written_.Write(set->target);
      } else if (const auto* zero = std::get_if<ZeroOut>(&stmt)) {
        written_.WriteAll(zero->buffer);
      }
    }
  }

  void Finish() {
    for (BufferId buffer : buffers_) {
      if (!written_.CoversAll(buffer)) Keep(buffer);
    }
  }

 private:
  void Keep(BufferId buffer) {
    Role& role = program_.buffers[buffer].role;
    const bool is_asked = absl::c_linear_search(buffers_, buffer);
    if (is_asked && role == Role::kOut) role = Role::kInOut;
  }

  void Read(const LeafValue& leaf) {
    std::visit(Overload{
                   [&](const Access& access) {
                     if (!written_.Covers(access)) Keep(access.buffer);
                   },
                   [&](const Lookup& lookup) {
                     if (!written_.Covers(lookup)) Keep(lookup.cell.buffer);
                     if (!written_.Covers(*lookup.index)) {
                       Keep(lookup.index->buffer);
                     }
                   },
                   [&](const GetLocal&) {},
                   [&](const Affine&) {},
               },
               leaf);
  }

  const absl::Span<const BufferId> buffers_;
  LoopProgram& program_;
  MustWriteRegions written_;
};

}  // namespace

void KeepUnwritten(absl::Span<const BufferId> buffers, LoopProgram& program) {
  const bool any = absl::c_any_of(buffers, [&](BufferId buffer) {
    return program.buffers[buffer].role == Role::kOut;
  });
  if (!any) return;
  UnwrittenFinder finder(buffers, program);
  finder.Visit(program.body);
  finder.Finish();
}

}  // namespace ocannl
