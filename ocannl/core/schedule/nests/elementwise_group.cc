// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/nests/elementwise_group.h"

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"

namespace ocannl {

void ElementwiseGroup::Add(const Access& cell, CellsOf& cells) {
  auto [at, is_new] = cells.try_emplace(cell.buffer, Cells{cell, true});
  if (!is_new && !(at->second.first == cell)) at->second.is_only = false;
}

bool ElementwiseGroup::HasOther(const Access& cell, const CellsOf& cells) {
  auto at = cells.find(cell.buffer);
  return at != cells.end() &&
         (!at->second.is_only || !(at->second.first == cell));
}

void ElementwiseGroup::Add(const Set& set) {
  Add(set.target, written_);
  Add(set.target, touched_);
  for (const Access& read : ReadsOf(program_, set.value)) Add(read, touched_);
  for (BufferId buffer : LookedUpBy(program_, set.value)) {
    looked_up_.insert(buffer);
  }
}

bool ElementwiseGroup::CanAppend(const Set& consumer) const {
  return !looked_up_.contains(consumer.target.buffer) &&
         !HasOther(consumer.target, touched_) &&
         absl::c_none_of(LookedUpBy(program_, consumer.value),
                         [&](BufferId buffer) { return Writes(buffer); }) &&
         absl::c_none_of(
             ReadsOf(program_, consumer.value),
             [&](const Access& read) { return HasOther(read, written_); });
}

}  // namespace ocannl
