// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/rank.h"

#include <algorithm>
#include <utility>

namespace ocannl {

int RankSystem::Add(RowRole role) {
  int row = static_cast<int>(parents_.size());
  parents_.push_back(row);
  offsets_.push_back(0);
  classes_.emplace_back().role = role;
  return row;
}

int RankSystem::Find(int row) const {
  int parent = parents_[row];
  if (parent == row) return row;
  int root = Find(parent);  // shallow: the smaller class joins the larger
  if (parent != root) {
    offsets_[row] += offsets_[parent];
    parents_[row] = root;
  }
  return root;
}

bool RankSystem::SetLength(int row, int length) {
  Class& c = ClassOf(row);
  int of_root = length - OffsetOf(row);
  if (c.length && *c.length != of_root) return false;
  c.length = of_root;
  return true;
}

bool RankSystem::SetDifference(int a, int b, int difference) {
  int root_a = Find(a), root_b = Find(b);
  // len(root_a) - len(root_b)
  int shift = difference + OffsetOf(b) - OffsetOf(a);
  if (root_a == root_b) return shift == 0;
  if (classes_[root_a].size > classes_[root_b].size) {
    std::swap(root_a, root_b);
    shift = -shift;
  }
  Class& from = classes_[root_a];
  Class& to = classes_[root_b];
  if (from.length && to.length && *from.length != *to.length + shift) {
    return false;
  }
  parents_[root_a] = root_b;
  offsets_[root_a] = shift;
  to.size += from.size;
  to.role = std::max(to.role, from.role);
  to.low = std::max(to.low, from.low - shift);
  if (from.length) to.length = *from.length - shift;
  return true;
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
  int root = Find(cover.covering);
  Class& larger = classes_[root];
  const Class& smaller = ClassOf(cover.covered);
  int low = smaller.low + OffsetOf(cover.covered) - OffsetOf(cover.covering);
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
      int root = Find(cover.covered);
      Class& smaller = classes_[root];
      if (smaller.known || cover.failed) continue;
      int bound = high + OffsetOf(cover.covering) - OffsetOf(cover.covered);
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
    const int root = Find(row);
    const Class& c = classes_[root];
    if (!c.known) Assign(root, std::max(length - OffsetOf(row), c.low));
  }
  return !up_.empty();
}

bool RankSystem::AssignFreeLeaves() {
  steps_ += static_cast<int64_t>(classes_.size());
  for (size_t root = 0; root < classes_.size(); ++root) {
    const Class& c = classes_[root];
    bool is_root = parents_[root] == static_cast<int>(root);
    if (is_root && !c.known && c.role == RowRole::kLeaf) {
      Assign(static_cast<int>(root), c.low);
    }
  }
  return !up_.empty();
}

std::vector<int> RankSystem::Solve() {
  for (size_t edge = 0; edge < covers_.size(); ++edge) {
    ClassOf(covers_[edge].covering).covering.push_back(static_cast<int>(edge));
    ClassOf(covers_[edge].covered).covered.push_back(static_cast<int>(edge));
  }
  for (size_t root = 0; root < classes_.size(); ++root) {
    if (parents_[root] != static_cast<int>(root)) continue;
    if (classes_[root].length) {
      Assign(static_cast<int>(root), *classes_[root].length);
    } else {
      Push(static_cast<int>(root), up_);
    }
  }
  do {
    RaiseLows();
    LowerHighs();
  } while (AssignLeavesByUse() || AssignPreferred() || AssignFreeLeaves());
  std::vector<int> failed;
  for (size_t edge = 0; edge < covers_.size(); ++edge) {
    if (covers_[edge].failed) failed.push_back(static_cast<int>(edge));
  }
  return failed;
}

int RankSystem::Length(int row) const {
  const Class& c = classes_[Find(row)];
  return c.length.value_or(c.low) + OffsetOf(row);
}

bool RankSystem::IsDetermined(int row) const {
  const Class& c = classes_[Find(row)];
  return c.role != RowRole::kParameter || c.known;
}

}  // namespace ocannl
