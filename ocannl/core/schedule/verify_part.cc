// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/verify_part.h"

#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {

absl::flat_hash_set<BufferId> WrittenIn(const LoopProgram& program,
                                        const Block& block) {
  absl::flat_hash_set<BufferId> written;
  WalkStmts(block, [&](const Stmt& stmt) {
    written.insert(WrittenBy(program, stmt));
  });
  return written;
}

absl::Status VerifyAmong(
    const LoopProgram& program, const Block& block,
    absl::FunctionRef<Role(BufferId buffer, Role role)> role_of) {
  IdVector<BufferId, Role> roles;
  for (BufferId k : program.buffers.ids()) {
    const Role role = program.buffers[k].role;
    const bool stays = role == Role::kInOut || role == Role::kPrivate;
    roles.push_back(stays ? role : role_of(k, role));
  }
  return VerifyPart(program, block, roles);
}

absl::Status VerifyAlone(const LoopProgram& program, const Block& block) {
  const absl::flat_hash_set<BufferId> written = WrittenIn(program, block);
  return VerifyAmong(program, block, [&](BufferId buffer, Role) {
    return written.contains(buffer) ? Role::kOut : Role::kIn;
  });
}

}  // namespace ocannl
