// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/rank.h"

#include <algorithm>

#include "absl/algorithm/container.h"

namespace ocannl {

int RankSystem::Add(RowRole role) {
  const int row = classes_.Add();
  classes_[row].role = role;
  return row;
}

bool RankSystem::SetLength(int row, int length) {
  Class& c = classes_[row];
  int of_root = length - classes_.OffsetOf(row);
  if (c.length && *c.length != of_root) return false;
  c.length = of_root;
  return true;
}

bool RankSystem::SetDifference(int a, int b, int difference) {
  auto merge = [](Class& to, const Class& from, int shift) {
    if (from.length && to.length && *from.length != *to.length + shift) {
      return false;
    }
    to.role = std::max(to.role, from.role);
    to.low = std::max(to.low, from.low - shift);
    if (from.length) to.length = *from.length - shift;
    return true;
  };
  return classes_.Unify(a, b, difference, merge);
}

void RankSystem::Cover(int covering, int covered, bool broadcastable) {
  covers_.push_back({.covering = covering,
                     .covered = covered,
                     .broadcastable = broadcastable});
}

void RankSystem::Push(int root, std::vector<int>& queue) {
  if (classes_[root].queued) return;
  classes_[root].queued = true;
  queue.push_back(root);
}

void RankSystem::Assign(int root, int length) {
  classes_[root].length = length;
  classes_[root].low = length;
  classes_[root].known = true;
  Push(root, up_);
}

void RankSystem::RaiseLow(int edge) {
  ++steps_;
  CoverEdge& cover = covers_[edge];
  int root = classes_.Find(cover.covering);
  Class& larger = classes_[root];
  const Class& smaller = classes_[cover.covered];
  int low = smaller.low + classes_.OffsetOf(cover.covered) -
            classes_.OffsetOf(cover.covering);
  if (low > larger.low) {
    if (larger.length || low > kMaxRank) {
      cover.failed = true;
      return;
    }
    larger.low = low;
    Push(root, up_);
  }
  if (smaller.known && !cover.broadcastable && !larger.known) {
    larger.known = true;
    Push(root, up_);
  }
}

void RankSystem::RaiseLows() {
  // The queue grows while it is walked: first in, first out.
  for (size_t i = 0; i < up_.size(); ++i) {
    int root = up_[i];
    ++steps_;
    classes_[root].queued = false;
    for (int edge : classes_[root].covered) {
      if (!covers_[edge].failed) RaiseLow(edge);
    }
    down_.push_back(root);
  }
  up_.clear();
}

void RankSystem::LowerHighs() {
  for (size_t i = 0; i < down_.size(); ++i) {
    ++steps_;
    const Class& larger = classes_[down_[i]];
    if (!larger.known && !larger.high) continue;
    int high = larger.known ? larger.low : *larger.high;
    for (int edge : larger.covering) {
      ++steps_;
      const CoverEdge& cover = covers_[edge];
      int root = classes_.Find(cover.covered);
      Class& smaller = classes_[root];
      if (smaller.known || cover.failed) continue;
      int bound = high + classes_.OffsetOf(cover.covering) -
                  classes_.OffsetOf(cover.covered);
      if (smaller.high && *smaller.high <= bound) continue;
      smaller.high = bound;
      down_.push_back(root);
      if (smaller.role != RowRole::kComputed) used_.push_back(root);
    }
  }
  down_.clear();
}

bool RankSystem::AssignLeavesByUse() {
  std::vector<int> used;
  std::swap(used, used_);
  steps_ += static_cast<int64_t>(used.size());
  for (int root : used) {
    const Class& c = classes_[root];
    if (!c.known) Assign(root, std::max(*c.high, c.low));
  }
  return !up_.empty();
}

bool RankSystem::AssignPreferred() {
  steps_ += static_cast<int64_t>(preferred_.size());
  for (auto [row, length] : preferred_) {
    const int root = classes_.Find(row);
    const Class& c = classes_[root];
    if (!c.known)
      Assign(root, std::max(length - classes_.OffsetOf(row), c.low));
  }
  return !up_.empty();
}

bool RankSystem::AssignFreeLeaves() {
  steps_ += static_cast<int64_t>(classes_.size());
  for (int root : classes_.Roots()) {
    const Class& c = classes_[root];
    if (!c.known && c.role == RowRole::kLeaf) Assign(root, c.low);
  }
  return !up_.empty();
}

std::vector<int> RankSystem::Solve() {
  for (size_t edge = 0; edge < covers_.size(); ++edge) {
    const CoverEdge& cover = covers_[edge];
    const int k = static_cast<int>(edge);
    classes_[cover.covering].covering.push_back(k);
    classes_[cover.covered].covered.push_back(k);
  }
  for (int root : classes_.Roots()) {
    const std::optional<int> length = classes_[root].length;
    length ? Assign(root, *length) : Push(root, up_);
  }
  do {
    RaiseLows();
    LowerHighs();
  } while (
      absl::c_any_of(kDefaults, [&](auto rule) { return (this->*rule)(); }));
  std::vector<int> failed;
  for (size_t edge = 0; edge < covers_.size(); ++edge) {
    if (covers_[edge].failed) failed.push_back(static_cast<int>(edge));
  }
  return failed;
}

int RankSystem::Length(int row) const {
  const Class& c = classes_[row];
  return c.length.value_or(c.low) + classes_.OffsetOf(row);
}

bool RankSystem::IsDetermined(int row) const {
  const Class& c = classes_[row];
  return c.role != RowRole::kParameter || c.known;
}

}  // namespace ocannl
