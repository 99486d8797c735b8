// SPDX-License-Identifier: Apache-2.0
//
// Decisions: what the scheduler did with the nests of a program, for those who
// must know that programs reach all of it.
//
//   Decisions taken;
//   Schedule(program, kAvx512Target, taken);
//   if (taken.Has(Decision::kPackedRows)) ...
#ifndef OCANNL_CORE_SCHEDULE_DECISIONS_H_
#define OCANNL_CORE_SCHEDULE_DECISIONS_H_

#include <bitset>
#include <cstdint>

#include "absl/strings/string_view.h"

// DECISION(enumerator, text): every decision, once.
#define OCANNL_DECISIONS(DECISION)                       \
  DECISION(MergedLoops, "merged loops")                  \
  DECISION(Map, "map")                                   \
  DECISION(MapWithUsers, "map with users")               \
  DECISION(ParallelMap, "parallel map")                  \
  DECISION(TransposedMap, "transposed map")              \
  DECISION(Contract, "contract")                         \
  DECISION(OneLane, "one lane")                          \
  DECISION(RowTiles, "tiles of rows")                    \
  DECISION(OuterLoops, "outer loops")                    \
  DECISION(UnequalRows, "unequal rows")                  \
  DECISION(ColumnTail, "column tail")                    \
  DECISION(ColumnGroups, "groups of columns")            \
  DECISION(Parts, "parts")                               \
  DECISION(PackedColumns, "packed columns")              \
  DECISION(TransposedColumns, "transposed columns")      \
  DECISION(PackedRows, "packed rows")                    \
  DECISION(ParallelContract, "parallel contract")        \
  DECISION(UsersInTiles, "users in tiles")               \
  DECISION(UserInPlace, "user in place")                 \
  DECISION(ZeroOutTaken, "zero_out taken")               \
  DECISION(ResultDropped, "result dropped")              \
  DECISION(BroughtToUser, "brought to user")             \
  DECISION(FusedRows, "fused rows")                      \
  DECISION(RowBlocks, "blocks of rows")                  \
  DECISION(Scatter, "scatter")                           \
  DECISION(Kept, "kept as it is")                        \
  /* Lanes and tiles that the program has of its own. */ \
  DECISION(KeptPrivates, "kept with private buffers")

namespace ocannl {

enum class Decision : uint8_t {
#define OCANNL_ENUMERATOR(name, text) k##name,
  OCANNL_DECISIONS(OCANNL_ENUMERATOR)
#undef OCANNL_ENUMERATOR
};

inline constexpr int kNumDecisions = 0
#define OCANNL_COUNT(...) +1
    OCANNL_DECISIONS(OCANNL_COUNT)
#undef OCANNL_COUNT
    ;

absl::string_view Name(Decision decision);

class Decisions {
 public:
  bool Has(Decision decision) const { return set_[static_cast<int>(decision)]; }
  void Add(Decision decision) { set_.set(static_cast<int>(decision)); }
  void AddIf(bool taken, Decision decision) {
    if (taken) Add(decision);
  }

 private:
  std::bitset<kNumDecisions> set_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_DECISIONS_H_
