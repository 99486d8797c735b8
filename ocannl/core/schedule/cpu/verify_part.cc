// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/verify_part.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/verify.h"

namespace ocannl {

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
  const std::vector<BufferId> written = EffectsOf(program, block).writes;
  return VerifyAmong(program, block, [&](BufferId buffer, Role) {
    return absl::c_linear_search(written, buffer) ? Role::kOut : Role::kIn;
  });
}

}  // namespace ocannl
