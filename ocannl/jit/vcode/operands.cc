// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/operands.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "ocannl/jit/vcode/encoding.h"

namespace ocannl::jit {
namespace {

using Role = OpcodeInfo::Role;

bool IsFma(Opcode opcode) {
  return opcode == Opcode::kFma || opcode == Opcode::kFnmadd ||
         opcode == Opcode::kFmsub;
}

// Whether it loads or stores in a row for each lane.
bool HasRows(const Nest& nest, const Inst& inst) {
  return Info(inst.opcode).field == OpcodeInfo::Field::kLookup &&
         !nest.lookups[inst.lookup].is_uniform;
}

bool Loads(const Inst& inst) {
  return Info(inst.opcode).memory == OpcodeInfo::Memory::kRead;
}

Temps TempsOfAccess(const Inst& inst, bool has_rows, bool masks) {
  const size_t size = SizeOf(inst.dtype);
  const bool is_whole = inst.active_lanes == inst.lanes && !has_rows;
  if (size >= 4 && is_whole && IsContiguous(inst)) return {};  // nearly all
  const bool loads = Loads(inst);
  const bool is_apart = has_rows || (inst.lanes > 1 && !IsContiguous(inst));
  const bool is_partial = inst.active_lanes < inst.lanes;
  const bool is_same = inst.lanes == 1 || inst.memory.stride == 0;
  if (loads && is_same && !has_rows) return {};
  if (size < 4 && loads) {
    return {inst.dtype == DType::kBool || is_apart || is_partial};
  }
  if (size == 2 && is_apart) return {};
  // Without masks, a vector's halves are packed.
  if (size < 4) return {masks || inst.lanes < 8 ? 1 : 2};
  if (!is_apart) return {!masks && is_partial};
  return masks ? Temps{1, 1} : Temps{loads ? 2 : 0};
}

// But for the mask of ReadsLanes.
Temps TempsWithoutLanes(const Nest& nest, const Inst& inst, bool masks) {
  switch (inst.opcode) {
    case Opcode::kLoad:
    case Opcode::kLookup:
    case Opcode::kStore:
    case Opcode::kScatter:
      return TempsOfAccess(inst, HasRows(nest, inst), masks);
    case Opcode::kInsert:
      if (inst.dtype == DType::kBool && masks) return {0, 1};
      return {inst.lane != 0};
    case Opcode::kExtract:
      return {!masks && 2 * inst.lane != inst.lanes};
    case Opcode::kMemset:
      return {1};
    default:
      return {};
  }
}

}  // namespace

bool IsContiguous(const Inst& inst) {
  return inst.memory.stride == static_cast<int>(SizeOf(inst.dtype));
}

Role RoleOf(const Inst& inst, int k) {
  const Role role = Info(inst.opcode).roles[k];
  if (role != Role::kOfOp) return role;
  const int arity = Info(inst.op).arity;
  if (k >= arity) return Role::kNone;
  return k + 1 == arity ? LastRole(inst) : Role::kReg;
}

int NumOperands(const Inst& inst) {
  if (inst.opcode == Opcode::kApply) return Info(inst.op).arity;
  const auto& roles = Info(inst.opcode).roles;
  return static_cast<int>(std::find(roles, std::end(roles), Role::kNone) -
                          roles);
}

bool CanBe(Value::Kind kind, const Inst& inst, int k) {
  const Role role = RoleOf(inst, k);
  if (role == Role::kConstant || role == Role::kCount) {
    return kind == Value::kConst;
  }
  if (role != Role::kAny || SizeOf(inst.operand) < 4) return false;
  for (int other = 0; other < 3; ++other) {
    const bool is_taken = other != k && inst.args[other].kind != Value::kNone &&
                          inst.args[other].kind != Value::kReg;
    if (is_taken &&
        (kind == Value::kMemory || RoleOf(inst, other) == Role::kAny)) {
      return false;
    }
  }
  return true;
}

bool CanFold(const Inst& load, bool broadcast) {
  if (load.opcode != Opcode::kLoad || SizeOf(load.dtype) < 4) return false;
  if (load.memory.stride == 0 || load.lanes == 1) return broadcast;
  return load.active_lanes == load.lanes && IsContiguous(load);
}

bool CanDefine(const Inst& inst, const Register& reg) {
  return inst.lanes == reg.lanes ||
         Info(inst.opcode).field == OpcodeInfo::Field::kLane ||
         (reg.is_mutable && inst.lanes < reg.lanes);
}

bool Commutes(const Inst& inst) {
  return IsFma(inst.opcode) || (inst.opcode == Opcode::kApply &&
                                (Info(inst.op).traits & kCommutative) != 0);
}

void OrderOperands(Inst& inst) {
  if (Commutes(inst) && inst.args[0].kind != Value::kReg &&
      inst.args[1].kind == Value::kReg) {
    std::swap(inst.args[0], inst.args[1]);
  }
}

bool ReadsLanes(const Nest& nest, const Inst& inst, bool masks) {
  if (!masks || Info(inst.opcode).mask == OpcodeInfo::Mask::kNone) return false;
  if (inst.opcode == Opcode::kInsert) return true;
  if (inst.active_lanes == inst.lanes ||  // nearly all
      HasRows(nest, inst) || !IsContiguous(inst)) {
    return false;
  }
  // Of numbers of less than 32 bits, a scalar store writes these, too.
  const unsigned bytes = inst.active_lanes * SizeOf(inst.dtype);
  return Loads(inst) || SizeOf(inst.dtype) >= 4 || bytes < 4 ||
         !std::has_single_bit(bytes);
}

Temps TempsOf(const Nest& nest, const Inst& inst, Isa isa) {
  if (Computes(inst.opcode)) return {};  // nearly all
  Temps temps = TempsWithoutLanes(nest, inst, HasMasks(isa));
  if (ReadsLanes(nest, inst, HasMasks(isa))) {
    temps.masks += !inst.mask.is_valid();
  }
  return temps;
}

}  // namespace ocannl::jit
