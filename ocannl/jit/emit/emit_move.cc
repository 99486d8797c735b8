// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/check.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace x86 = asmjit::x86;
namespace Ids = x86::Inst;

void Emitter::EmitCopy(const Inst& inst) {
  const Value& value = inst.args[0];
  if (allocation_->locations[inst.dst.index].constant >= 0) return;
  const bool is_mask = IsMask(inst.dtype, isa_);
  if (value.kind == Value::kConst) {
    const uint64_t bits = code_->constants[value.index].bits;
    is_mask ? LoadConstant(OutMask(inst), bits)
            : LoadConstant(Out(inst), inst.dtype, bits);
  } else if (is_mask) {
    KReg dst = OutMask(inst);
    KReg from = InMask(inst, 0);
    if (dst != from) assembler_.kmovw(dst, from);
  } else {
    Vec dst = Out(inst);
    Vec from = In(inst, 0);
    if (dst != from) assembler_.vmovaps(dst, from);
  }
  Finish(inst);
}

void Emitter::LoadConstant(const KReg& dst, uint64_t bits) {
  Emit(bits != 0 ? Ids::kIdKxnorw : Ids::kIdKxorw, dst, dst, dst);
}

// Into every lane.
void Emitter::LoadConstant(const Vec& dst, DType dtype, uint64_t bits) {
  const int size = IsWide(dtype) ? 8 : 4;
  if (bits == 0) {
    assembler_.vxorps(dst, dst, dst);
  } else if (dtype == DType::kBool) {
    assembler_.vpcmpeqd(dst, dst, dst);
  } else if (HasEvex()) {
    Mem number = Pool(std::string(reinterpret_cast<const char*>(&bits), size));
    Emit(size == 8 ? Ids::kIdVpbroadcastq : Ids::kIdVpbroadcastd, dst, number);
  } else {
    Emit(Ids::kIdVmovups, dst, PoolSplat(bits, size, dst.size()));
  }
}

void Emitter::EmitSplat(const Inst& inst) {
  x86::Assembler& a = assembler_;
  if (IsMask(inst.dtype, isa_)) {
    a.kmovw(x86::eax, InMask(inst, 0));
    a.and_(x86::eax, 1);
    a.neg(x86::eax);
    a.kmovw(OutMask(inst), x86::eax);
  } else {
    const bool wide = IsWide(inst.dtype);
    Emit(wide ? Ids::kIdVpbroadcastq : Ids::kIdVpbroadcastd, Out(inst),
         In(inst, 0, 16));
  }
  Finish(inst);
}

void Emitter::EmitIndex(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const bool wide = IsWide(inst.dtype);
  Vec dst = Out(inst);
  a.lea(x86::rax, At({.pointer = inst.memory.pointer}));
  a.vmovq(dst.xmm(), x86::rax);
  if (inst.lanes > 1) {
    Emit(wide ? Ids::kIdVpbroadcastq : Ids::kIdVpbroadcastd, dst, dst.xmm());
  }
  Emit(wide ? Ids::kIdVpaddq : Ids::kIdVpaddd, dst, dst,
       PoolRange(inst.memory.disp, inst.memory.stride,
                 BytesOf(inst.dtype, inst.lanes) / (wide ? 8 : 4),
                 wide ? 8 : 4));
  Finish(inst);
}

// dst[i] = from[(i + lanes) % n], n the lanes of the register.
void Emitter::Rotate(const Inst& inst, const Vec& dst, const Vec& from,
                     int lanes) {
  const bool wide = IsWide(inst.dtype);
  const int size = wide ? 8 : 4;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const int n = bytes / size;
  lanes = (lanes + n) % n;
  if (HasEvex()) {
    Emit(wide ? Ids::kIdValignq : Ids::kIdValignd, dst, from, from,
         asmjit::imm(lanes));
    return;
  }
  if (2 * lanes == n && bytes == 32) {
    return Emit(Ids::kIdVperm2f128, dst, from, from, asmjit::imm(1));
  }
  // As a shuffle of lanes of 32 bits.
  std::string shuffle;
  for (int k = 0; k < bytes / 4; ++k) {
    const int32_t lane = (k + lanes * size / 4) % (bytes / 4);
    shuffle.append(reinterpret_cast<const char*>(&lane), 4);
  }
  if (bytes == 32) {
    const Vec order = dst == from ? Temp(0, bytes) : dst;
    Emit(Ids::kIdVmovups, order, Pool(shuffle));
    Emit(Ids::kIdVpermd, dst, order, from);
  } else {
    int selector = 0;
    for (int k = 0; k < 4; ++k) selector |= shuffle[4 * k] << (2 * k);
    Emit(Ids::kIdVpshufd, dst, from, asmjit::imm(selector));
  }
}

void Emitter::EmitExtract(const Inst& inst) {
  if (IsMask(inst.dtype, isa_)) {
    assembler_.kshiftrw(OutMask(inst), InMask(inst, 0), inst.lane);
  } else {
    Rotate(inst, Out(inst), In(inst, 0), inst.lane);
  }
  Finish(inst);
}

void Emitter::InsertMask(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const int from = inst.lane;
  KReg dst = OutMask(inst);
  const Location& location = allocation_->locations[inst.dst.index];
  if (location.reg < 0) a.kmovw(dst, SpillSlot(location.slot));
  KReg value = TempMask(0);
  KReg lanes = LaneMask(inst);
  a.kshiftlw(value, InMask(inst, 0), from);
  a.kandw(value, value, lanes);
  a.kandnw(dst, lanes, dst);
  a.korw(dst, value, dst);
  Finish(inst);
}

// The other lanes of dst stay.
void Emitter::EmitInsert(const Inst& inst) {
  if (IsMask(inst.dtype, isa_)) return InsertMask(inst);
  const bool wide = IsWide(inst.dtype);
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const Location& location = allocation_->locations[inst.dst.index];
  Vec value = In(inst, 0);
  if (inst.lane != 0) {
    Vec rotated = Temp(0, bytes);
    Rotate(inst, rotated, value, -inst.lane);
    value = rotated;
  }
  Vec dst = Out(inst);
  if (location.reg < 0) assembler_.vmovups(dst, SpillSlot(location.slot));
  if (HasEvex()) {
    assembler_.k(LaneMask(inst))
        .emit(wide ? Ids::kIdVmovapd : Ids::kIdVmovaps, dst, value);
  } else {
    Emit(wide ? Ids::kIdVblendpd : Ids::kIdVblendps, dst, dst, value,
         asmjit::imm(((1 << inst.active_lanes) - 1) << inst.lane));
  }
  Finish(inst);
}

void Emitter::EmitLanes(const Inst& inst) {
  SetMask(OutMask(inst), inst.lane, inst.active_lanes);
  Finish(inst);
}

void Emitter::EmitShuffle(const Inst& inst) {
  Vec dst = Out(inst);
  Vec a = In(inst, 0);
  Vec b = In(inst, 1);
  // In the order of ShuffleKind.
  static constexpr InstId kIds[] = {Ids::kIdVunpcklps,  Ids::kIdVunpckhps,
                                    Ids::kIdVunpcklpd,  Ids::kIdVunpckhpd,
                                    Ids::kIdVperm2f128, Ids::kIdVshuff32x4,
                                    Ids::kIdVshufps};
  const InstId id = kIds[static_cast<size_t>(inst.shuffle)];
  if (inst.shuffle < ShuffleKind::kBlocks256) {
    Emit(id, dst, a, b);
  } else {
    Emit(id, dst, a, b, asmjit::imm(inst.selector));
  }
  Finish(inst);
}

}  // namespace ocannl::jit
