// SPDX-License-Identifier: Apache-2.0
//
// CellwiseSets: assignments that run one after another for each cell of a nest,
// and which others may follow them there.
#ifndef OCANNL_CORE_SCHEDULE_FOLLOW_H_
#define OCANNL_CORE_SCHEDULE_FOLLOW_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

class CellwiseSets {
 public:
  // `program` outlives this object.
  explicit CellwiseSets(const LoopProgram& program) : program_(program) {}

  // `set` runs behind those before it.
  void Add(const Set& set);

  // Whether one of them writes the buffer.
  bool Writes(int32_t buffer) const { return written_.contains(buffer); }

  // Whether `user` may follow them: they share only cells of the same place,
  // none of them looked up. The time does not depend on how many they are.
  bool MayFollow(const Set& user) const;

 private:
  // The cells of one buffer.
  struct Cells {
    Access first;
    bool is_only;
  };
  using CellsOf = absl::flat_hash_map<int32_t, Cells>;

  static void Add(const Access& cell, CellsOf& cells);
  // Whether `cells` has another cell of the buffer.
  static bool HasOther(const Access& cell, const CellsOf& cells);

  const LoopProgram& program_;
  CellsOf written_;
  CellsOf touched_;  // those that are written, and those that are read
  absl::flat_hash_set<int32_t> looked_up_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_FOLLOW_H_
