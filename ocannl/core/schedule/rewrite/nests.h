// SPDX-License-Identifier: Apache-2.0
//
// Nests: the statements of a program's body kept apart, so that a rewrite of
// one nest takes no time for the others.
//
//   Nests nests(program);                       // the body is empty
//   if (nests.Focus({i3})) {                    // it is the nest of i3
//     status = Split(program, i3, 16);
//     nests.Unfocus();
//   }
//   nests.Join();                               // it is all nests again
#ifndef OCANNL_CORE_SCHEDULE_REWRITE_NESTS_H_
#define OCANNL_CORE_SCHEDULE_REWRITE_NESTS_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::rewrite {

class Nests {
 public:
  // The program outlives it, and is changed between Focus and Unfocus only.
  explicit Nests(LoopProgram& program);
  Nests(const Nests&) = delete;
  Nests& operator=(const Nests&) = delete;

  // Makes the nest that all of these loops are in the body, until Unfocus.
  // False: there is no such nest.
  bool Focus(absl::Span<const IteratorId> loops);
  void Unfocus();

  void Join();

 private:
  void AddLoops(size_t nest);

  LoopProgram& program_;
  std::vector<Block> nests_;                         // each was one statement
  absl::flat_hash_map<IteratorId, size_t> nest_of_;  // each loop
  bool is_unique_ = true;  // no two nests have one iterator
  size_t focus_ = 0;
};

}  // namespace ocannl::rewrite

#endif  // OCANNL_CORE_SCHEDULE_REWRITE_NESTS_H_
