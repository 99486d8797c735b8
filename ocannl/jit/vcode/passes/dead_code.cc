// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {

void EliminateDeadCode(Nest& nest, Isa) {
  std::vector<int> uses = CountUses(nest);
  for (size_t k = nest.insts.size(); k-- > 0;) {
    Inst& inst = nest.insts[k];
    if (!IsPure(inst.opcode) || nest.registers[inst.dst.index].is_mutable ||
        uses[inst.dst.index] > 0) {
      continue;
    }
    for (const Value& arg : inst.args) {
      if (arg.kind == Value::kReg) --uses[arg.index];
    }
    inst = Nop();
  }
}

}  // namespace ocannl::jit
