// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {

void FuseOrAnds(Nest& nest, Isa isa) {
  auto is_or = [](const Inst& inst) {
    return inst.opcode == Opcode::kApply && inst.op == Op::kOr;
  };
  if (!Info(isa).ternary || absl::c_none_of(nest.insts, is_or)) return;
  const std::vector<int> uses = CountUses(nest);
  std::vector<Inst*> ands(nest.registers.size(), nullptr);
  auto is_mutable = [&](const Value& value) {
    return value.kind == Value::kReg && nest.registers[value.index].is_mutable;
  };
  auto is_and = [&](const Value& value, const Inst& user) {
    if (value.kind != Value::kReg || uses[value.index] != 1) return false;
    const Inst* inst = ands[value.index];
    return inst != nullptr && inst->dtype == user.dtype &&
           inst->lanes == user.lanes;
  };
  for (Inst& inst : nest.insts) {
    if (inst.opcode != Opcode::kApply || inst.operand == DType::kBool) continue;
    if (inst.op == Op::kAnd && !is_mutable(RegValue(inst.dst)) &&
        !is_mutable(inst.args[0]) && !is_mutable(inst.args[1])) {
      ands[inst.dst.index] = &inst;
    }
    if (inst.op != Op::kOr || SizeOf(inst.dtype) < 4) continue;
    if (inst.args[1].kind != Value::kReg) continue;
    if (is_and(inst.args[0], inst)) std::swap(inst.args[0], inst.args[1]);
    if (!is_and(inst.args[1], inst)) continue;
    Inst& both = *ands[inst.args[1].index];
    inst.opcode = Opcode::kOrAnd;
    inst.args[1] = both.args[0];
    inst.args[2] = both.args[1];
    both = Nop();
  }
}

}  // namespace ocannl::jit
