// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/last_uses.h"

#include <vector>

#include "ocannl/core/analysis/nest.h"

namespace ocannl::gpu {

void LastUses::Find(const LoopProgram& program) {
  const std::vector<Stmt>& stmts = program.body.stmts;
  for (size_t at = 0; at < stmts.size(); ++at) {
    for (BufferId id : EffectsOf(program, stmts[at]).buffers()) {
      from_end_[id] = stmts.size() - at;
    }
  }
}

void LastUses::Done(const LoopProgram& program, const Stmt& stmt) {
  for (BufferId id : EffectsOf(program, stmt).buffers()) done_.insert(id);
}

std::vector<BufferId> LastUses::OwnTemps(const LoopProgram& program, size_t at,
                                         size_t waiting) const {
  const std::vector<Stmt>& stmts = program.body.stmts;
  std::vector<BufferId> temps;
  for (BufferId id : EffectsOf(program, stmts[at]).writes) {
    const Role role = program.buffers[id].role;
    const auto last = from_end_.find(id);
    if (IsScratch(role) && !IsOfNest(role) && last != from_end_.end() &&
        last->second >= stmts.size() - at + waiting && !done_.contains(id)) {
      temps.push_back(id);
    }
  }
  return temps;
}

}  // namespace ocannl::gpu
