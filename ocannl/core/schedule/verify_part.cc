// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/verify_part.h"

#include <utility>

#include "ocannl/core/analysis/promises.h"
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

absl::Status VerifyPart(
    LoopProgram& program, Block body,
    absl::FunctionRef<Role(BufferId buffer, Role role)> role_of,
    rewrite::Legality legality) {
  IdVector<BufferId, Role> roles;
  for (BufferId k : program.buffers.ids()) {
    Role& role = program.buffers[k].role;
    roles.push_back(role);
    if (role == Role::kInOut || role == Role::kPrivate) continue;
    role = role_of(k, role);
  }
  std::swap(program.body, body);
  absl::Status status = legality == rewrite::Legality::kProve
                            ? VerifyPromises(program)
                            : Verify(program);
  std::swap(program.body, body);
  for (BufferId k : roles.ids()) program.buffers[k].role = roles[k];
  return status;
}

absl::Status VerifyAlone(LoopProgram& program, const Block& block) {
  const absl::flat_hash_set<BufferId> written = WrittenIn(program, block);
  return VerifyPart(program, block, [&](BufferId buffer, Role) {
    return written.contains(buffer) ? Role::kOut : Role::kIn;
  });
}

}  // namespace ocannl
