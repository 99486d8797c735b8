// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/check.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {

namespace x86 = asmjit::x86;

Emitter::Vec Emitter::VecOf(int reg, int bytes) {
  switch (bytes) {
    case 16:
      return x86::xmm(reg);
    case 32:
      return x86::ymm(reg);
    default:
      CHECK(bytes == 64) << bytes;
      return x86::zmm(reg);
  }
}

Emitter::Vec Emitter::Temp(int k, int bytes) const {
  CHECK(k < temps_.vectors);
  return VecOf(allocation_->locations[first_temp_ + k].reg, bytes);
}

Emitter::KReg Emitter::TempMask(int k) const {
  CHECK(k < temps_.masks);
  k += first_temp_ + temps_.vectors;
  return x86::k(allocation_->locations[k].reg);
}

int Emitter::RegisterOf(const Location& location, bool masks, int k) const {
  return location.reg >= 0 ? location.reg
                           : NumRegisters(masks, isa_) - kNumReloads + k;
}

Emitter::Vec Emitter::In(const Inst& inst, int k, int bytes) {
  const Value& value = inst.args[k];
  CHECK(value.kind == Value::kReg);
  const Location& location = allocation_->locations[value.index];
  const Vec vec = VecOf(RegisterOf(location, /*masks=*/false, k), bytes);
  if (location.constant >= 0) {
    DType dtype = code_->registers[value.index].dtype;
    LoadConstant(vec, dtype, code_->constants[location.constant].bits);
  } else if (location.slot >= 0) {
    assembler_.vmovups(vec, SpillSlot(location.slot));
  }
  return vec;
}

Emitter::Vec Emitter::In(const Inst& inst, int k) {
  return In(inst, k, BytesOf(inst.dtype, inst.lanes));
}

Emitter::KReg Emitter::InMask(const Inst& inst, int k) {
  const Value& value = inst.args[k];
  CHECK(value.kind == Value::kReg);
  return ReloadMask(value.reg(), k);
}

Emitter::KReg Emitter::ReloadMask(VReg reg, int k) {
  const Location& location = allocation_->locations[reg.index];
  const KReg mask = x86::k(RegisterOf(location, /*masks=*/true, k));
  if (location.constant >= 0) {
    LoadConstant(mask, code_->constants[location.constant].bits);
  } else if (location.slot >= 0) {
    assembler_.kmovw(mask, SpillSlot(location.slot));
  }
  return mask;
}

asmjit::Operand Emitter::RegOrMem(const Inst& inst, int k, int bytes) {
  const Value& value = inst.args[k];
  if (value.kind == Value::kReg) return In(inst, k, bytes);
  const int size = IsWide(inst.operand) ? 8 : 4;
  if (value.kind == Value::kConst) {
    return PoolSplat(code_->constants[value.index].bits, size, bytes);
  }
  Mem memory = At(inst.memory);
  if (inst.memory.stride == 0) {
    memory.setBroadcast(static_cast<x86::Mem::Broadcast>(
        asmjit::Support::ctz(static_cast<uint32_t>(bytes / size))));
  }
  return memory;
}

Emitter::Vec Emitter::Out(const Inst& inst, int bytes) {
  const Location& location = allocation_->locations[inst.dst.index];
  return VecOf(RegisterOf(location, /*masks=*/false, kNumReloads - 1), bytes);
}

Emitter::Vec Emitter::Out(const Inst& inst) {
  return Out(inst, BytesOf(inst.dtype, inst.lanes));
}

Emitter::KReg Emitter::OutMask(const Inst& inst) {
  const Location& location = allocation_->locations[inst.dst.index];
  return x86::k(RegisterOf(location, /*masks=*/true, kNumReloads - 1));
}

void Emitter::Finish(const Inst& inst) {
  const Location& location = allocation_->locations[inst.dst.index];
  if (location.reg >= 0) return;
  if (IsMask(inst.dtype, isa_)) {
    assembler_.kmovw(SpillSlot(location.slot), OutMask(inst));
  } else {
    assembler_.vmovups(SpillSlot(location.slot), Out(inst));
  }
}

Emitter::Mem Emitter::At(const Memory& memory, int64_t more) {
  if (has_row_address_) {
    return x86::ptr(x86::rdx, static_cast<int32_t>(memory.disp + more));
  }
  const PointerLocation& location = pointer_locations_[memory.pointer];
  Gp base = location.reg;
  if (location.slot >= 0) {
    assembler_.mov(x86::rcx, Slot(location.slot, 8));
    base = x86::rcx;
  }
  return x86::ptr(base, static_cast<int32_t>(memory.disp + more));
}

Emitter::Mem Emitter::Slot(int32_t slot, int32_t bytes) const {
  CHECK(has_frame_);
  return x86::ptr(x86::rsp, slot, bytes);
}

Emitter::Mem Emitter::SpillSlot(int32_t slot) const {
  return Slot(spills_ + slot, 0);
}

Emitter::Mem Emitter::OperandSlot(int32_t offset) const {
  return Slot(operands_ + offset, 0);
}

Emitter::Mem Emitter::Pool(const std::string& bytes) {
  auto [it, inserted] =
      pool_offsets_.try_emplace(bytes, static_cast<int32_t>(pool_.size()));
  if (inserted) {
    // Aligned to its size, so that none crosses cache lines.
    size_t unit = bytes.size();
    pool_.resize((pool_.size() + unit - 1) / unit * unit);
    it->second = static_cast<int32_t>(pool_.size());
    pool_ += bytes;
  }
  return x86::ptr(pool_label_, it->second);
}

Emitter::Mem Emitter::PoolSplat(uint64_t bits, int size, int bytes) {
  std::string one(reinterpret_cast<const char*>(&bits), size);
  if (Info(isa_).broadcast) {
    Mem memory = Pool(one);
    memory.setBroadcast(static_cast<x86::Mem::Broadcast>(
        asmjit::Support::ctz(static_cast<uint32_t>(bytes / size))));
    return memory;
  }
  std::string all;
  while (all.size() < 32) all += one;
  return Pool(all);
}

Emitter::Mem Emitter::PoolRange(int64_t start, int64_t step, int count,
                                int size) {
  std::string bytes;
  for (int k = 0; k < count; ++k) {
    int64_t number = start + k * step;
    bytes.append(reinterpret_cast<const char*>(&number), size);
  }
  return Pool(bytes);
}

void Emitter::SetMask(const KReg& mask, int64_t from, int active) {
  assembler_.mov(x86::eax, ((1 << active) - 1) << from);
  assembler_.kmovd(mask, x86::eax);
}

Emitter::KReg Emitter::LaneMask(const Inst& inst) {
  if (inst.mask.is_valid()) return ReloadMask(inst.mask, NumOperands(inst));
  const KReg mask = TempMask(temps_.masks - 1);
  SetMask(mask, FirstLane(inst), inst.active_lanes);
  return mask;
}

Emitter::Vec Emitter::LaneVector(const Inst& inst, int temp) {
  const Vec mask = Temp(temp, BytesOf(inst.dtype, inst.lanes));
  Emit(x86::Inst::kIdVmovups, mask, PoolMask(inst));
  return mask;
}

Emitter::Mem Emitter::PoolMask(const Inst& inst) {
  const int size = IsWide(inst.dtype) ? 8 : 4;
  std::string bytes(inst.active_lanes * size, '\xff');
  bytes.resize(inst.lanes * size);
  return Pool(bytes);
}

}  // namespace ocannl::jit
