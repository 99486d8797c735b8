// SPDX-License-Identifier: Apache-2.0
//
// ElementwiseGroup: which assignments may run in the loops of a nest.
#ifndef OCANNL_CORE_SCHEDULE_NESTS_ELEMENTWISE_GROUP_H_
#define OCANNL_CORE_SCHEDULE_NESTS_ELEMENTWISE_GROUP_H_

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Assignments fused elementwise: they run one after another in each iteration
// of a nest. Tells which others may be appended.
class ElementwiseGroup {
 public:
  // `program` outlives this object.
  explicit ElementwiseGroup(const LoopProgram& program) : program_(program) {}

  // `set` runs after those before it.
  void Add(const Set& set);

  // Whether one of them writes the buffer.
  bool Writes(BufferId buffer) const { return written_.contains(buffer); }

  // Whether `consumer` may be appended: they share only elements accessed with
  // equal indices, none of them gathered. Takes constant time in their number.
  bool CanAppend(const Set& consumer) const;

 private:
  // The cells of one buffer.
  struct Cells {
    Access first;
    bool is_only;
  };
  using CellsOf = absl::flat_hash_map<BufferId, Cells>;

  static void Add(const Access& cell, CellsOf& cells);
  // Whether `cells` has another cell of the buffer.
  static bool HasOther(const Access& cell, const CellsOf& cells);

  const LoopProgram& program_;
  CellsOf written_;
  CellsOf touched_;  // those that are written, and those that are read
  absl::flat_hash_set<BufferId> looked_up_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_NESTS_ELEMENTWISE_GROUP_H_
