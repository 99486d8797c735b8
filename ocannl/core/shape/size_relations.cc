// SPDX-License-Identifier: Apache-2.0
//
// Relations of SizeSystem: sums, products, and numbers of windows.
#include <algorithm>
#include <utility>

#include "ocannl/core/index/division.h"
#include "ocannl/core/shape/size.h"

namespace ocannl {
namespace {

// No array has as many cells; sums of a few of its multiples do not overflow.
constexpr int64_t kMaxSize = int64_t{1} << 46;

}  // namespace

void SizeSystem::Relate(int whole, std::vector<Part> parts, int64_t constant,
                        Rounding rounding, int64_t before) {
  parts.push_back({.axis = whole, .factor = -1});
  relations_.push_back({.parts = std::move(parts),
                        .constant = constant,
                        .rounding = rounding,
                        .before = before});
}

void SizeSystem::Multiply(int whole, absl::Span<const int> axes) {
  std::vector<Part> parts;
  for (int axis : axes) parts.push_back({.axis = axis, .factor = 1});
  Relate(whole, std::move(parts), 0);
  relations_.back().multiplies = true;
}

void SizeSystem::AssignEmpty(int axis) {
  classes_[axis].empty = true;
  for (int k : classes_[axis].relations) Propagate(relations_[k]);
}

void SizeSystem::Fail(Relation& relation) {
  relation.failed = true;
  for (const Part& part : relation.parts) {
    relation.sizes.push_back(Size(part.axis));
  }
}

// Determines the last unknown size of the relation.
void SizeSystem::Propagate(Relation& relation) {
  ++steps_;
  if (relation.done || relation.failed) return;
  steps_ += static_cast<int64_t>(relation.parts.size());
  if (relation.multiplies) return PropagateProduct(relation);
  if (relation.rounding != Rounding::kNone) return PropagateRounded(relation);
  int unknown = -1;
  __int128 sum = relation.constant;
  __int128 factor = 0;  // of the unknown
  for (const Part& part : relation.parts) {
    int root = classes_.Find(part.axis);
    const Class& c = classes_[root];
    if (c.size != 0 || c.empty) {
      sum += static_cast<__int128>(part.factor) * c.size;
    } else if (unknown < 0 || unknown == root) {
      unknown = root;
      factor += part.factor;
    } else {
      return;
    }
  }
  if (factor == 0) {
    relation.done = sum == 0;
    if (!relation.done) Fail(relation);
    return;
  }
  __int128 size = -sum / factor;
  if (sum == 0 && relation.is_concatenation() && classes_[unknown].is_name) {
    relation.done = true;
    return AssignEmpty(unknown);
  }
  if (sum % factor != 0 || size < 1 || size > kMaxSize) return Fail(relation);
  relation.done = true;
  Assign(unknown, static_cast<int64_t>(size), false);
}

// Determines the number of windows, or compares it.
void SizeSystem::PropagateRounded(Relation& relation) {
  for (const Part& part : relation.parts) {
    if (classes_[part.axis].empty) return Fail(relation);
  }
  const auto& [windows, stride] = relation.parts[0];
  int64_t room = -relation.constant;  // for `stride` cells each
  for (size_t k = 1; k < relation.parts.size(); ++k) {
    const int64_t size = Size(relation.parts[k].axis);
    if (size == 0) return;
    room -= relation.parts[k].factor * size;
  }
  int64_t count = FloorDiv(room, stride);
  if (relation.rounding == Rounding::kUp && room > 0) {
    const int64_t whole = Size(relation.parts.back().axis);
    count = std::min(CeilDiv(room, stride),
                     CeilDiv(whole + relation.before, stride));
  }
  const int64_t known = Size(windows);
  if (count < 1 || (known != 0 && known != count)) return Fail(relation);
  relation.done = true;
  if (known == 0) Assign(classes_.Find(windows), count, false);
}

void SizeSystem::PropagateProduct(Relation& relation) {
  const int whole = classes_.Find(relation.parts.back().axis);
  int unknown = -1;
  int64_t product = 1;
  for (size_t k = 0; k + 1 < relation.parts.size(); ++k) {
    const int root = classes_.Find(relation.parts[k].axis);
    const int64_t size = classes_[root].size;
    if (size == 0 && unknown >= 0) return;
    if (size == 0) unknown = root;
    if (size > kMaxSize / product) return Fail(relation);
    if (size != 0) product *= size;
  }
  const int64_t total = classes_[whole].size;
  if (total == 0) {
    if (unknown >= 0) return;
    relation.done = true;
    return Assign(whole, product, false);
  }
  if (total % product != 0 || (unknown < 0 && total != product)) {
    return Fail(relation);
  }
  relation.done = true;
  if (unknown >= 0) Assign(unknown, total / product, false);
}

// The smallest axes that have the windows.
bool SizeSystem::AssignRoundedWholes() {
  steps_ += static_cast<int64_t>(relations_.size());
  for (Relation& relation : relations_) {
    const int whole = classes_.Find(relation.parts.back().axis);
    if (relation.rounding == Rounding::kNone || relation.failed) continue;
    if (classes_[whole].size != 0) continue;
    __int128 size = relation.constant;
    bool known = true;
    for (size_t k = 0; k + 1 < relation.parts.size(); ++k) {
      const auto& [axis, factor] = relation.parts[k];
      known = known && Size(axis) != 0;
      size += static_cast<__int128>(factor) * Size(axis);
    }
    if (!known) continue;
    if (size < 1 || size > kMaxSize) {
      Fail(relation);
    } else {
      Assign(whole, static_cast<int64_t>(size), false);
    }
  }
  return !queue_.empty();
}

}  // namespace ocannl
