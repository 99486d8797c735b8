// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/operands.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// Makes the loaded operand of `user` memory.
bool FoldInto(const Inst& load, Inst& user) {
  if (!Computes(user.opcode) || user.lanes != load.lanes) return false;
  const Value loaded = RegValue(load.dst);
  for (int tries = 0; tries < 2; ++tries) {
    for (int k = 0; k < 3; ++k) {
      if (user.args[k] != loaded || !CanBe(Value::kMemory, user, k)) continue;
      user.args[k] = {Value::kMemory, -1};
      user.memory = load.memory;
      if (load.lanes == 1) user.memory.stride = 0;
      return true;
    }
    if (!Commutes(user) || user.args[0] != loaded ||
        user.args[1].kind != Value::kReg) {
      return false;
    }
    std::swap(user.args[0], user.args[1]);
  }
  return false;
}

}  // namespace

void FoldLoads(Nest& nest, Isa isa) {
  const bool broadcast = Info(isa).broadcast;
  const std::vector<int> uses = CountUses(nest);
  for (size_t k = 0; k < nest.insts.size(); ++k) {
    Inst& load = nest.insts[k];
    if (!CanFold(load, broadcast) || uses[load.dst.index] != 1) continue;
    if (nest.registers[load.dst.index].is_mutable) continue;
    const Value loaded = RegValue(load.dst);
    for (size_t next = k + 1; next < nest.insts.size(); ++next) {
      Inst& user = nest.insts[next];
      if (IsBarrier(user.opcode)) break;
      if (std::find(user.args.begin(), user.args.end(), loaded) ==
          user.args.end()) {
        continue;
      }
      if (FoldInto(load, user)) load = Nop();
      break;
    }
  }
}

}  // namespace ocannl::jit
