// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/follow.h"

#include "absl/algorithm/container.h"
#include "ocannl/core/schedule/nest.h"

namespace ocannl {

void CellwiseSets::Add(const Access& cell, CellsOf& cells) {
  auto [at, is_new] = cells.try_emplace(cell.buffer, Cells{cell, true});
  if (!is_new && !(at->second.first == cell)) at->second.is_only = false;
}

bool CellwiseSets::HasOther(const Access& cell, const CellsOf& cells) {
  auto at = cells.find(cell.buffer);
  return at != cells.end() &&
         (!at->second.is_only || !(at->second.first == cell));
}

void CellwiseSets::Add(const Set& set) {
  Add(set.target, written_);
  Add(set.target, touched_);
  for (const Access& read : ReadsOf(program_, set.value)) Add(read, touched_);
  for (int32_t buffer : LookedUpBy(program_, set.value)) {
    looked_up_.insert(buffer);
  }
}

bool CellwiseSets::MayFollow(const Set& user) const {
  return !looked_up_.contains(user.target.buffer) &&
         !HasOther(user.target, touched_) &&
         absl::c_none_of(LookedUpBy(program_, user.value),
                         [&](int32_t buffer) { return Writes(buffer); }) &&
         absl::c_none_of(
             ReadsOf(program_, user.value),
             [&](const Access& read) { return HasOther(read, written_); });
}

}  // namespace ocannl
