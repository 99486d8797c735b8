// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/must_write.h"

#include <algorithm>
#include <cstdlib>
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
      // One loop may close the gaps that another has left.
      while (WidenOnce(boxes.back())) {
      }
      Add(buffer, std::move(boxes.back()));
    }
  }
}

MustWriteRegions::Box MustWriteRegions::BoxOf(const Access& cell) {
  Box box;
  for (const Affine& index : cell.indices) box.push_back({index, 1});
  return box;
}

void MustWriteRegions::Write(const Access& cell) {
  Add(cell.buffer, BoxOf(cell));
}

void MustWriteRegions::WriteAll(BufferId buffer) {
  Add(buffer, Everything(buffer));
}

bool MustWriteRegions::Covers(const Access& cell) const {
  return CoversBox(cell.buffer, BoxOf(cell));
}

bool MustWriteRegions::Covers(const Lookup& lookup) const {
  const BufferId buffer = lookup.cell.buffer;
  Box box = BoxOf(lookup.cell);  // from 0 on the axis
  box[lookup.axis].length = program_.buffers[buffer].dims[lookup.axis];
  return CoversBox(buffer, box);
}

bool MustWriteRegions::CoversAll(BufferId buffer) const {
  return CoversBox(buffer, Everything(buffer));
}

MustWriteRegions::Box MustWriteRegions::Everything(BufferId buffer) const {
  Box box;
  for (int64_t dim : program_.buffers[buffer].dims) box.push_back({0, dim});
  return box;
}

bool MustWriteRegions::CoversBox(BufferId buffer, const Box& box) const {
  const auto boxes = boxes_.find(buffer);
  return boxes != boxes_.end() &&
         absl::c_any_of(boxes->second, [&](const Written& written) {
           return Contains(written.box, box);
         });
}

bool MustWriteRegions::IsLive(Symbol symbol) const {
  return symbol.kind == Symbol::kStatic ||
         absl::c_any_of(scopes_, [&](const Scope& scope) {
           return scope.loop != nullptr &&
                  scope.loop->iterator == symbol.iterator();
         });
}

int64_t MustWriteRegions::Range(Symbol symbol) const {
  return symbol.kind == Symbol::kStatic ? program_.statics[symbol.number].range
                                        : extents_.at(symbol.iterator());
}

// Whether `index` is in [least, greatest] for all values of its symbols.
bool MustWriteRegions::IsWithin(const Affine& index, int64_t least,
                                int64_t greatest) const {
  int64_t from = index.offset();
  int64_t to = from;
  for (const Affine::Term& term : index.terms()) {
    int64_t span = term.factor * (Range(term.symbol) - 1);
    (span < 0 ? from : to) += span;
  }
  return least <= from && to <= greatest;
}

bool MustWriteRegions::Contains(const Box& outer, const Box& inner) const {
  for (size_t axis = 0; axis < outer.size(); ++axis) {
    Affine start = inner[axis].first + -1 * outer[axis].first;
    if (!IsWithin(start, 0, outer[axis].length - inner[axis].length)) {
      return false;
    }
  }
  return true;
}

// Whether `inner` is in `outer`, at one place whatever values the symbols have.
// A box that only stays in another, as 0 to 5 in s to s + 5 where s is 0, may
// still join its neighbours, which the other cannot.
bool MustWriteRegions::Holds(const Box& outer, const Box& inner) {
  for (size_t axis = 0; axis < outer.size(); ++axis) {
    const Affine start = inner[axis].first + -1 * outer[axis].first;
    if (!start.is_constant() || start.offset() < 0 ||
        start.offset() + inner[axis].length > outer[axis].length) {
      return false;
    }
  }
  return true;
}

// Projects the iterator of an ended loop out of the box, if its iterations
// leave no gap: if one axis depends on it, with a stride of no more than the
// length there.
bool MustWriteRegions::WidenOnce(Box& box) const {
  for (Interval& interval : box) {
    for (const Affine::Term& term : interval.first.terms()) {
      const auto [symbol, factor] = term;
      int64_t last = Range(symbol) - 1;
      int64_t axes =
          absl::c_count_if(box, [symbol = symbol](const Interval& i) {
            return i.first.FactorOf(symbol) != 0;
          });
      bool gapless = axes == 1 && std::abs(factor) <= interval.length;
      if (IsLive(symbol) || (last > 0 && !gapless)) continue;
      // From here on `term` is gone.
      interval.length += std::abs(factor) * last;
      interval.first +=
          -factor * Affine(symbol) + std::min<int64_t>(0, factor * last);
      return true;
    }
  }
  return false;
}

// Makes `box` the union of both, if that is a box: they differ on one axis
// only, and there they touch.
bool MustWriteRegions::Join(const Box& other, Box& box) {
  Interval* joined = nullptr;
  int64_t start = 0;  // of the union, from the start of *joined
  int64_t end = 0;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    const int64_t length = other[axis].length;
    Affine shift = other[axis].first + -1 * box[axis].first;
    if (!shift.is_constant()) return false;
    if (shift.offset() == 0 && length == box[axis].length) continue;
    bool touches =
        shift.offset() <= box[axis].length && shift.offset() + length >= 0;
    if (joined != nullptr || !touches) return false;
    joined = &box[axis];
    start = std::min<int64_t>(0, shift.offset());
    end = std::max(joined->length, shift.offset() + length);
  }
  if (joined == nullptr) return true;
  *joined = {.first = joined->first + start, .length = end - start};
  return true;
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
                     if (!written_.Covers(lookup.index)) {
                       Keep(lookup.index.buffer);
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
