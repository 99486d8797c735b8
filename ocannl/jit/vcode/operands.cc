// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/operands.h"

#include <utility>

namespace ocannl::jit {
namespace {

bool IsFma(const Inst& inst) {
  return inst.opcode == Opcode::kFnmadd || inst.opcode == Opcode::kFmsub ||
         (inst.opcode == Opcode::kApply && inst.op == Op::kFma);
}

}  // namespace

bool CanBeMemory(const Inst& inst, int k) {
  if (SizeOf(inst.operand) < 4 || k == 0) return false;
  if (inst.opcode == Opcode::kOrAnd) return k == 2;
  if (IsFma(inst)) return inst.args[3 - k].kind == Value::kReg;
  switch (inst.op) {
    case Op::kAdd:
    case Op::kSub:
    case Op::kAnd:
    case Op::kOr:
    case Op::kXor:
      return true;
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kNeg:
    case Op::kAbs:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return IsFloat(inst.operand);
    case Op::kMinimum:
    case Op::kMaximum:
      return k == 2 && inst.args[2].kind == Value::kConst;
    case Op::kSelect:
      return k == 1 && inst.args[2].kind == Value::kReg;
    default:
      return false;
  }
}

bool CanDefine(const Inst& inst, const Register& reg) {
  return inst.lanes == reg.lanes ||
         Info(inst.opcode).offset == OpcodeInfo::Offset::kLane ||
         (reg.is_mutable && inst.lanes < reg.lanes);
}

bool Commutes(const Inst& inst) {
  return IsFma(inst) || (inst.opcode == Opcode::kApply &&
                         (Info(inst.op).traits & kCommutative) != 0);
}

void OrderOperands(Inst& inst) {
  if (Commutes(inst) && inst.args[0].kind != Value::kReg &&
      inst.args[1].kind == Value::kReg) {
    std::swap(inst.args[0], inst.args[1]);
  }
}

}  // namespace ocannl::jit
