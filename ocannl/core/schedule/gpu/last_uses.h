// SPDX-License-Identifier: Apache-2.0
//
// LastUses: where the last statement that names a buffer is, counted from the
// end: what is planned before does not change that.
#ifndef OCANNL_CORE_SCHEDULE_GPU_LAST_USES_H_
#define OCANNL_CORE_SCHEDULE_GPU_LAST_USES_H_

#include <cstddef>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::gpu {

class LastUses {
 public:
  void Find(const LoopProgram& program);

  // Temps that the statement `at` of the body writes and no later one names:
  // those that it may have for itself, found without a copy of the program.
  // `waiting` statements come after the body. Those of Done are not among them.
  std::vector<BufferId> OwnTemps(const LoopProgram& program, size_t at,
                                 size_t waiting) const;

  // What the statement names, which has left the body, has other users.
  void Done(const LoopProgram& program, const Stmt& stmt);

 private:
  absl::flat_hash_map<BufferId, size_t> from_end_;
  absl::flat_hash_set<BufferId> done_;
};

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_LAST_USES_H_
