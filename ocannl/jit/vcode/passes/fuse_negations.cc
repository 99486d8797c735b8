// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/passes/passes.h"

namespace ocannl::jit {
namespace {

// The operand of an fma that is the result of one of `negations`, if any.
Value* NegatedOperand(Inst& inst, absl::Span<const Inst* const> negations) {
  if (inst.opcode != Opcode::kFma) return nullptr;
  for (Value& arg : inst.args) {
    if (arg.kind != Value::kReg) continue;
    const Inst* negation = negations[arg.index];
    if (negation != nullptr && negation->lanes == inst.lanes) return &arg;
  }
  return nullptr;
}

}  // namespace

void FuseNegations(Nest& nest, Isa) {
  auto is_mutable = [&](VReg reg) {
    return nest.registers[reg.index].is_mutable;
  };
  auto is_negation = [&](const Inst& inst) {
    return inst.opcode == Opcode::kApply && inst.op == Op::kXor &&
           IsFloat(inst.dtype) &&  // no other xor is of floats
           inst.args[0].kind == Value::kReg && !is_mutable(inst.dst) &&
           !is_mutable(inst.args[0].reg());
  };
  if (std::none_of(nest.insts.begin(), nest.insts.end(), is_negation)) return;
  std::vector<int> other_uses = CountUses(nest);
  std::vector<const Inst*> negations(nest.registers.size(), nullptr);  // by dst
  for (Inst& inst : nest.insts) {
    if (const Value* negated = NegatedOperand(inst, negations)) {
      --other_uses[negated->index];
    } else if (is_negation(inst)) {
      negations[inst.dst.index] = &inst;
    }
  }
  for (Inst& inst : nest.insts) {
    Value* negated = NegatedOperand(inst, negations);
    if (negated == nullptr || other_uses[negated->index] > 0) continue;
    inst.opcode = negated == &inst.args[2] ? Opcode::kFmsub : Opcode::kFnmadd;
    *negated = negations[negated->index]->args[0];
  }
}

}  // namespace ocannl::jit
