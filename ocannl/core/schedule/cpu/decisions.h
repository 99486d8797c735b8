// SPDX-License-Identifier: Apache-2.0
//
// Decisions: what the scheduler does with the nests of a program, for those who
// must know that programs reach all of it.
//
//   if (DecisionsOf(program, target).Has(Decision::kPackedA)) ...
#ifndef OCANNL_CORE_SCHEDULE_CPU_DECISIONS_H_
#define OCANNL_CORE_SCHEDULE_CPU_DECISIONS_H_

#include <bitset>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/target.h"

// DECISION(enumerator, text): every decision, once.
#define OCANNL_DECISIONS(DECISION)                       \
  DECISION(CollapsedLoops, "collapsed loops")            \
  DECISION(Map, "map")                                   \
  DECISION(MapWithEpilogues, "map with epilogues")       \
  DECISION(ParallelMap, "parallel map")                  \
  DECISION(TransposedMap, "transposed map")              \
  DECISION(Contract, "contract")                         \
  DECISION(OneLane, "one lane")                          \
  DECISION(TiledM, "tiles of m")                         \
  DECISION(OuterLoops, "outer loops")                    \
  DECISION(UnequalTilesOfM, "unequal tiles of m")        \
  DECISION(RemainderOfN, "remainder of n")               \
  DECISION(PanelBlocks, "blocks of panels")              \
  DECISION(KBlocks, "blocks of k")                       \
  DECISION(PackedB, "packed B")                          \
  DECISION(TransposedB, "transposed B")                  \
  DECISION(PackedA, "packed A")                          \
  DECISION(ParallelContract, "parallel contract")        \
  DECISION(FusedEpilogues, "fused epilogues")            \
  DECISION(InPlaceEpilogue, "epilogue in place")         \
  DECISION(AbsorbedZeroOut, "absorbed zero_out")         \
  DECISION(SunkToConsumer, "sunk to consumer")           \
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

// Of Schedule: read off its plan and its script.
Decisions DecisionsOf(const LoopProgram& program, const Target& target);

}  // namespace ocannl

#endif  // OCANNL_CORE_SCHEDULE_CPU_DECISIONS_H_
