// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/size.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"

namespace ocannl {
int SizeSystem::Add(RowRole role) {
  const int axis = classes_.Add();
  classes_[axis].role = role;
  made_.push_back(role == RowRole::kComputed ? Made::kUnknown : Made::kOther);
  return axis;
}

int SizeSystem::AddName() {
  int axis = Add(RowRole::kComputed);
  classes_[axis].is_name = true;
  return axis;
}

void SizeSystem::Set(int axis, int64_t size, bool broadcastable) {
  classes_[axis].size = size;
  classes_[axis].broadcastable = broadcastable;
  made_[axis] = broadcastable ? Made::kOne : Made::kOther;
}

void SizeSystem::Follow(int result, int operand) {
  follows_.emplace_back(result, operand);
}

bool SizeSystem::Equate(int a, int b) {
  auto merge = [](Class& to, const Class& from, int) {
    if (from.size != 0 && to.size != 0) {
      if (from.size != to.size) return false;
      to.broadcastable = to.broadcastable && from.broadcastable;
    } else if (from.size != 0) {
      to.size = from.size;
      to.broadcastable = from.broadcastable;
    }
    to.role = std::max(to.role, from.role);
    to.is_name = to.is_name && from.is_name;
    return true;
  };
  return classes_.Unify(a, b, 0, merge);
}

void SizeSystem::AtLeast(int axis, int64_t size) {
  Class& c = classes_[axis];
  c.at_least = std::max(c.at_least, size);
  bounds_.push_back({.axis = axis, .size = size});
}

void SizeSystem::Cover(int covering, int covered) {
  covers_.push_back({.covering = covering, .covered = covered});
}

void SizeSystem::Assign(int axis, int64_t size, bool broadcastable) {
  Class& c = classes_[axis];
  c.size = size;
  c.broadcastable = broadcastable;
  for (int edge : c.covered) --classes_[covers_[edge].covering].open;
  queue_.push_back(classes_.Find(axis));
}

void SizeSystem::PropagateUp(int root) {
  const Class& smaller = classes_[root];
  steps_ += static_cast<int64_t>(smaller.covered.size());
  for (int edge : smaller.covered) {
    int above = classes_.Find(covers_[edge].covering);
    Class& larger = classes_[above];
    if (IsBroadcastable(covers_[edge].covered)) {
      larger.covers_broadcastable = true;
    } else if (larger.size == 0) {
      Assign(above, smaller.size, false);
    } else if (larger.size != smaller.size) {
      covers_[edge].failed = true;
    }
  }
}

void SizeSystem::PropagateDown(int root) {
  const Class& larger = classes_[root];
  int64_t size = larger.size != 0 ? larger.size : larger.by_use;
  steps_ += static_cast<int64_t>(larger.covering.size());
  for (int edge : larger.covering) {
    int below = classes_.Find(covers_[edge].covered);
    Class& smaller = classes_[below];
    if (smaller.size != 0) {
      bool fits =
          smaller.size == size || IsBroadcastable(covers_[edge].covered);
      if (larger.size != 0 && !fits) covers_[edge].failed = true;
      continue;
    }
    int64_t both = smaller.by_use == 0 || smaller.by_use == size ? size : 1;
    if (both == smaller.by_use) continue;
    smaller.by_use = both;
    queue_.push_back(below);
    if (smaller.role != RowRole::kComputed) used_.push_back(below);
  }
}

void SizeSystem::Propagate() {
  // The queue grows while it is walked: first in, first out.
  for (size_t i = 0; i < queue_.size(); ++i) {
    ++steps_;
    int root = queue_[i];
    if (classes_[root].size != 0) {
      PropagateUp(root);
      for (int k : classes_[root].relations) Propagate(relations_[k]);
    }
    PropagateDown(root);
  }
  queue_.clear();
}

bool SizeSystem::AssignUsedLeaves() {
  std::vector<int> used;
  std::swap(used, used_);
  steps_ += static_cast<int64_t>(used.size());
  for (int root : used) {
    const Class& c = classes_[root];
    if (c.size == 0) Assign(root, c.by_use, c.by_use == 1);
  }
  return !queue_.empty();
}

bool SizeSystem::AssignAtLeast() {
  steps_ += static_cast<int64_t>(bounds_.size());
  for (const Bound& bound : bounds_) {
    const Class& c = classes_[bound.axis];
    if (c.size == 0 && c.at_least > 1) Assign(bound.axis, c.at_least, false);
  }
  return !queue_.empty();
}

// Whether a relation may still tell the size.
bool SizeSystem::IsOpen(const Class& c) const {
  return absl::c_any_of(c.relations, [&](int k) {
    ++steps_;
    return !relations_[k].done && !relations_[k].failed;
  });
}

bool SizeSystem::AssignFreeLeaves() {
  steps_ += static_cast<int64_t>(classes_.size());
  for (int root : classes_.Roots()) {
    const Class& c = classes_[root];
    if (c.size == 0 && c.role == RowRole::kLeaf && !IsOpen(c)) {
      Assign(root, 1, true);
    }
  }
  return !queue_.empty();
}

// What covers broadcastable 1s only is one, too: from the operands up.
bool SizeSystem::AssignCovering() {
  steps_ += static_cast<int64_t>(classes_.size());
  std::vector<int> ready = classes_.Roots();
  bool any = false;
  for (size_t i = 0; i < ready.size(); ++i) {
    ++steps_;
    const Class& c = classes_[ready[i]];
    if (c.size != 0 || c.empty || c.open != 0 || IsOpen(c)) continue;
    if (c.role == RowRole::kParameter && !c.covers_broadcastable) continue;
    Assign(ready[i], 1, true);
    any = true;
    for (int edge : c.covered) {
      int above = classes_.Find(covers_[edge].covering);
      classes_[above].covers_broadcastable = true;
      ready.push_back(above);
    }
  }
  return any;
}

// Windows that are not known from their array are as many as their uses want.
bool SizeSystem::AssignRelatedByUse() {
  steps_ += static_cast<int64_t>(relations_.size());
  for (Relation& relation : relations_) {
    for (const Part& part : relation.parts) {
      const Class& c = classes_[part.axis];
      bool open = !relation.done && !relation.failed;
      if (!open || c.size != 0 || c.by_use == 0) continue;
      Assign(part.axis, c.by_use, false);
      Propagate(relation);
    }
  }
  return !queue_.empty();
}

// The parts of an open concatenation that no array has and nothing determines.
std::vector<int> SizeSystem::OpenParts(const Relation& relation) const {
  std::vector<int> open;
  if (!relation.is_concatenation() || relation.done || relation.failed) {
    return open;
  }
  for (const Part& part : relation.parts) {
    const Class& c = classes_[part.axis];
    if (c.is_name && c.size == 0 && !c.empty) open.push_back(part.axis);
  }
  return open;
}

// An axis is windows of a size that nothing tells: guessing helps nobody. One
// that has room for windows of 1 alone tells it.
void SizeSystem::FailOpenWindows() {
  for (Relation& relation : relations_) {
    const bool closed = relation.multiplies || relation.done || relation.failed;
    if (closed || Size(relation.parts.back().axis) == 0) continue;
    int64_t open = 0;
    __int128 sum = relation.constant;
    for (const Part& part : relation.parts) {
      const Class& c = classes_[part.axis];
      const bool is_open = c.size == 0 && !c.empty;
      open += is_open ? 1 : 0;
      sum += static_cast<__int128>(part.factor) * (is_open ? 1 : c.size);
    }
    const bool rounds = relation.rounding != Rounding::kNone;
    if ((open > 1 && sum != 0) || (open == 1 && rounds)) Fail(relation);
  }
}

bool SizeSystem::AssignEmptyParts() {
  steps_ += static_cast<int64_t>(relations_.size());
  for (Relation& relation : relations_) {
    std::vector<int> open = OpenParts(relation);
    if (open.size() == 1) AssignEmpty(open[0]);
  }
  return !queue_.empty();
}

// What is left, in circles of covers; but not above an open parameter.
bool SizeSystem::AssignRest() {
  steps_ += static_cast<int64_t>(classes_.size() + relations_.size());
  for (int root : classes_.Roots()) {
    const Class& c = classes_[root];
    if (c.size == 0 && c.role == RowRole::kParameter) return false;
  }
  for (Relation& relation : relations_) {
    if (!OpenParts(relation).empty()) Fail(relation);
  }
  // Relations may tell the others from the leaves.
  for (RowRole least : {RowRole::kLeaf, RowRole::kComputed}) {
    if (!queue_.empty()) break;
    if (least == RowRole::kComputed) FailOpenWindows();
    for (int root : classes_.Roots()) {
      const Class& c = classes_[root];
      bool open = c.size == 0 && !c.empty;
      if (open && c.role >= least) Assign(root, 1, true);
    }
  }
  return !queue_.empty();
}

// Tells the classes which covers they are in.
void SizeSystem::Connect() {
  for (size_t edge = 0; edge < covers_.size(); ++edge) {
    int above = classes_.Find(covers_[edge].covering);
    int below = classes_.Find(covers_[edge].covered);
    if (above == below) continue;
    classes_[above].covering.push_back(static_cast<int>(edge));
    classes_[below].covered.push_back(static_cast<int>(edge));
    ++classes_[above].open;
  }
  for (size_t k = 0; k < relations_.size(); ++k) {
    for (const Part& part : relations_[k].parts) {
      std::vector<int>& relations = classes_[part.axis].relations;
      bool is_new =
          relations.empty() || relations.back() != static_cast<int>(k);
      if (is_new) relations.push_back(static_cast<int>(k));
    }
  }
}

// From the operands up: an axis is a broadcastable 1 once all that it follows
// are.
void SizeSystem::FollowOnes() {
  std::vector<int> ones;
  for (size_t axis = 0; axis < made_.size(); ++axis) {
    if (made_[axis] == Made::kOne) ones.push_back(static_cast<int>(axis));
  }
  if (ones.empty()) return;
  std::vector<int> open(made_.size(), 0);  // operands that may be no such 1s
  std::vector<absl::InlinedVector<int, 2>> followers(made_.size());
  for (const auto& [result, operand] : follows_) {
    ++open[result];
    followers[operand].push_back(result);
  }
  for (size_t i = 0; i < ones.size(); ++i) {
    for (int result : followers[ones[i]]) {
      if (--open[result] > 0 || made_[result] != Made::kUnknown) continue;
      made_[result] = Made::kOne;
      ones.push_back(result);
    }
  }
}

SizeSystem::Unsatisfiable SizeSystem::Solve() {
  FollowOnes();
  Connect();
  for (int root : classes_.Roots()) {
    const Class& c = classes_[root];
    if (c.size != 0) Assign(root, c.size, c.broadcastable);
  }
  do {
    Propagate();
  } while (
      absl::c_any_of(kDefaults, [&](auto rule) { return (this->*rule)(); }));
  Unsatisfiable unsatisfiable;
  for (size_t edge = 0; edge < covers_.size(); ++edge) {
    if (covers_[edge].failed) {
      unsatisfiable.covers.push_back(static_cast<int>(edge));
    }
  }
  for (size_t k = 0; k < bounds_.size(); ++k) {
    if (Size(bounds_[k].axis) == 0 ||
        Size(bounds_[k].axis) >= bounds_[k].size) {
      continue;
    }
    unsatisfiable.at_least.push_back(static_cast<int>(k));
  }
  for (size_t k = 0; k < relations_.size(); ++k) {
    if (!relations_[k].failed) continue;
    unsatisfiable.relations.emplace_back(k, std::move(relations_[k].sizes));
  }
  return unsatisfiable;
}

}  // namespace ocannl
