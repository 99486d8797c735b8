// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ocannl/core/base/check.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

namespace x86 = asmjit::x86;
namespace Ids = x86::Inst;

// More bytes are zeroed in a loop, which is as fast from there on (`bazel run
// //experiments:bench_programs -- --tier=x86` of `zero_out`s of 512 to 16,384
// bytes).
constexpr int64_t kMaxUnrolledMemset = 512;

// Whether lanes of 32 bits hold what has one or two bytes in memory.
bool IsSubword(DType dtype) { return SizeOf(dtype) < 4; }

}  // namespace

void Emitter::EmitLoad(const Inst& inst) {
  if (inst.dtype == DType::kBool) {
    LoadMask(inst);
  } else if (IsSubword(inst.dtype)) {
    LoadSubword(inst, Out(inst));
  } else if (inst.lanes > 1 && inst.memory.stride != 0 && !IsContiguous(inst)) {
    Gather(inst, Out(inst));
  } else {
    LoadWords(inst, Out(inst), At(inst.memory));
  }
  Finish(inst);
}

// Numbers of four or eight bytes: one, in all lanes, or one after the other.
void Emitter::LoadWords(const Inst& inst, const Vec& dst, const Mem& from) {
  const bool wide = IsWide(inst.dtype);
  const InstId load = wide ? Ids::kIdVmovupd : Ids::kIdVmovups;
  if (inst.lanes == 1) {
    Emit(wide ? Ids::kIdVmovsd : Ids::kIdVmovss, dst.xmm(), from);
  } else if (inst.memory.stride == 0) {
    Emit(wide ? Ids::kIdVpbroadcastq : Ids::kIdVpbroadcastd, dst, from);
  } else if (inst.active_lanes == inst.lanes) {
    Emit(load, dst, from);
  } else if (HasEvex()) {
    assembler_.k(LaneMask(inst)).z().emit(load, dst, from);
  } else {
    Emit(wide ? Ids::kIdVmaskmovpd : Ids::kIdVmaskmovps, dst,
         LaneVector(inst, 0), from);
  }
}

void Emitter::EmitLoadInsert(const Inst& inst) {
  const InstId insert = inst.active_lanes == 8 ? Ids::kIdVinsertf32x8
                        : HasEvex()            ? Ids::kIdVinsertf32x4
                                               : Ids::kIdVinsertf128;
  Emit(insert, Out(inst), In(inst, 0), At(inst.memory),
       asmjit::imm(inst.lane / inst.active_lanes));
  Finish(inst);
}

void Emitter::Gather(const Inst& inst, const Vec& dst) {
  const InstId gather =
      IsWide(inst.dtype) ? Ids::kIdVgatherdpd : Ids::kIdVgatherdps;
  Vec index = Temp(0, std::max(16, inst.lanes * 4));
  Mem from = At(inst.memory);
  Emit(Ids::kIdVmovups, index, PoolRange(0, inst.memory.stride, inst.lanes, 4));
  from.setIndex(index);
  assembler_.vxorps(dst, dst, dst);
  if (HasEvex()) {
    SetMask(TempMask(0), 0, inst.active_lanes);
    assembler_.k(TempMask(0)).emit(gather, dst, from);
  } else {
    Emit(gather, dst, from, LaneVector(inst, 1));
  }
}

// Numbers of one or two bytes are zero-extended to lanes of 32 bits.
void Emitter::LoadSubword(const Inst& inst, const Vec& dst) {
  x86::Assembler& a = assembler_;
  const int size = static_cast<int>(SizeOf(inst.dtype));
  const InstId widen = size == 1 ? Ids::kIdVpmovzxbd : Ids::kIdVpmovzxwd;
  Mem from = At(inst.memory);
  from.setSize(size);
  if (inst.lanes == 1 || inst.memory.stride == 0) {
    a.movzx(x86::eax, from);
    a.vmovd(dst.xmm(), x86::eax);
    if (inst.lanes > 1) a.vpbroadcastd(dst, dst.xmm());
  } else if (IsContiguous(inst) && inst.active_lanes == inst.lanes) {
    from.setSize(size * inst.lanes);
    Emit(widen, dst, from);
  } else if (IsContiguous(inst) && HasEvex()) {
    Vec packed = Temp(0, std::max(16, size * inst.lanes));
    from.setSize(0);
    a.k(LaneMask(inst))
        .z()
        .emit(size == 1 ? Ids::kIdVmovdqu8 : Ids::kIdVmovdqu16, packed, from);
    Emit(widen, dst, packed);
  } else {
    Vec packed = Temp(0, std::max(16, size * inst.lanes));
    auto collect = [&](const Vec& to, int first) {
      a.vxorps(to.xmm(), to.xmm(), to.xmm());
      const int end = std::min<int>(inst.active_lanes, first + 16 / size);
      for (int k = first; k < end; ++k) {
        Emit(size == 1 ? Ids::kIdVpinsrb : Ids::kIdVpinsrw, to.xmm(), to.xmm(),
             At(inst.memory, int64_t{k} * inst.memory.stride),
             asmjit::imm(k - first));
      }
    };
    collect(packed, 0);
    if (packed.size() == 32) {
      collect(dst, 8);
      Emit(Ids::kIdVinserti32x4, packed, packed, dst.xmm(), asmjit::imm(1));
    }
    Emit(widen, dst, packed);
  }
}

// Any byte but 0 is true.
void Emitter::LoadMask(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  if (inst.lanes == 1 || inst.memory.stride == 0) {
    Mem from = At(inst.memory);
    from.setSize(1);
    a.cmp(from, 0);
    a.setne(x86::al);
    a.movzx(x86::eax, x86::al);
    a.neg(x86::eax);
    if (HasEvex()) return a.kmovw(OutMask(inst), x86::eax), void();
    a.vmovd(Out(inst).xmm(), x86::eax);
    if (inst.lanes > 1) a.vpbroadcastd(Out(inst), Out(inst).xmm());
    return;
  }
  const Vec lanes = HasEvex() ? Temp(0, bytes) : Out(inst);
  LoadSubword(inst, lanes);
  TestLanes(inst, lanes);
}

// Which `lanes`, not in a temp of AVX2, are not 0.
void Emitter::TestLanes(const Inst& inst, const Vec& lanes) {
  x86::Assembler& a = assembler_;
  if (HasEvex()) {
    a.vptestmd(OutMask(inst), lanes, lanes);
    return;
  }
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  Vec zero = Temp(0, bytes);
  a.vpxor(zero, zero, zero);
  a.vpcmpeqd(lanes, lanes, zero);
  Emit(Ids::kIdVpxor, Out(inst), lanes, PoolSplat(~uint64_t{0}, 4, bytes));
}

void Emitter::EmitStore(const Inst& inst) {
  if (inst.lanes > 1 && !IsContiguous(inst)) return Scatter(inst);
  if (IsSubword(inst.dtype)) return StoreSubword(inst, NarrowLanes(inst));
  StoreWords(inst, At(inst.memory), In(inst, 0));
}

void Emitter::EmitStream(const Inst& inst) {
  const Vec value = In(inst, 0);
  Emit(Ids::kIdVmovntps, At(inst.memory), value);
}

void Emitter::StoreWords(const Inst& inst, const Mem& to, const Vec& value) {
  const bool wide = IsWide(inst.dtype);
  const InstId store = wide ? Ids::kIdVmovupd : Ids::kIdVmovups;
  if (inst.lanes == 1) {
    Emit(wide ? Ids::kIdVmovsd : Ids::kIdVmovss, to, value);
  } else if (inst.active_lanes == inst.lanes) {
    Emit(store, to, value);
  } else if (HasEvex()) {
    assembler_.k(LaneMask(inst)).emit(store, to, value);
  } else {
    Emit(wide ? Ids::kIdVmaskmovpd : Ids::kIdVmaskmovps, to,
         LaneVector(inst, 0), value);
  }
}

// The lanes with no more bytes than they have in memory, in the first temp. A
// true bool is 1.
Emitter::Vec Emitter::NarrowLanes(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const size_t size = SizeOf(inst.dtype);
  Vec packed = Temp(0, 16);
  if (IsMask(inst.dtype, isa_)) {
    a.vpmovm2b(packed.xmm(), InMask(inst, 0));
    a.vpabsb(packed.xmm(), packed.xmm());
    return packed;
  }
  Vec lanes = In(inst, 0);
  if (inst.dtype == DType::kBool) {
    Vec ones = Temp(0, bytes);
    Emit(Ids::kIdVpsrld, ones, lanes, asmjit::imm(31));
    lanes = ones;
  }
  if (size == 2) return PackWords(lanes, bytes);
  if (HasEvex()) {
    Emit(Ids::kIdVpmovdb, packed, lanes);
    return packed;
  }
  PackWords(lanes, bytes);
  a.vpackuswb(packed.xmm(), packed.xmm(), packed.xmm());
  return packed;
}

// The low halves of lanes of 32 bits, which hold no more, in the first temp.
Emitter::Vec Emitter::PackWords(const Vec& lanes, int bytes) {
  Vec packed = Temp(0, std::max(16, bytes / 2));
  if (HasEvex()) {
    Emit(Ids::kIdVpmovdw, packed, lanes);
  } else if (bytes == 32) {
    Vec high = Temp(1, 16);
    Emit(Ids::kIdVextracti128, high, lanes, asmjit::imm(1));
    Emit(Ids::kIdVpackusdw, packed, lanes.xmm(), high);
  } else {
    Emit(Ids::kIdVpackusdw, packed, lanes.xmm(), lanes.xmm());
  }
  return packed;
}

void Emitter::StoreSubword(const Inst& inst, const Vec& packed) {
  x86::Assembler& a = assembler_;
  const int size = static_cast<int>(SizeOf(inst.dtype));
  Mem to = At(inst.memory);
  const int bytes = inst.active_lanes * size;
  switch (bytes) {
    case 32:
    case 16:
      a.vmovups(to, VecOf(packed.id(), bytes));
      return;
    case 8:
      a.vmovq(to, packed.xmm());
      return;
    case 4:
      a.vmovd(to, packed.xmm());
      return;
  }
  if (HasEvex() && inst.lanes > 1) {
    a.k(LaneMask(inst))
        .emit(size == 1 ? Ids::kIdVmovdqu8 : Ids::kIdVmovdqu16, to, packed);
    return;
  }
  for (int k = 0; k < inst.active_lanes; ++k) {
    Emit(size == 1 ? Ids::kIdVpextrb : Ids::kIdVpextrw,
         At(inst.memory, k * size), packed.xmm(), asmjit::imm(k));
  }
}

// To cells that are not contiguous.
void Emitter::Scatter(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const int size = static_cast<int>(SizeOf(inst.dtype));
  CHECK(inst.memory.stride != 0);
  if (size == 1) {
    Vec packed = NarrowLanes(inst);
    for (int k = 0; k < inst.active_lanes; ++k) {
      Mem to = At(inst.memory, int64_t{k} * inst.memory.stride);
      a.vpextrb(to, packed.xmm(), k);
    }
    return;
  }
  if (HasEvex() && size != 2) {
    Vec index = Temp(0, std::max(16, inst.lanes * 4));
    Emit(Ids::kIdVmovups, index,
         PoolRange(0, inst.memory.stride, inst.lanes, 4));
    Mem to = At(inst.memory);
    to.setIndex(index);
    Vec value = In(inst, 0);
    SetMask(TempMask(0), 0, inst.active_lanes);
    assembler_.k(TempMask(0))
        .emit(size == 8 ? Ids::kIdVscatterdpd : Ids::kIdVscatterdps, to, value);
    return;
  }
  a.vmovups(OperandSlot(0), In(inst, 0, bytes));
  for (int k = 0; k < inst.active_lanes; ++k) {
    Gp lane = size == 8 ? Gp(x86::rax) : Gp(x86::eax);
    a.mov(lane, OperandSlot(k * std::max(4, size)));
    if (size == 2) lane = x86::ax;
    a.mov(At(inst.memory, int64_t{k} * inst.memory.stride), lane);
  }
}

void Emitter::EmitMemset(const Inst& inst) {
  x86::Assembler& a = assembler_;
  const int width = VectorBytes(isa_);
  Vec zero = Temp(0, width);
  a.vxorps(zero.xmm(), zero.xmm(), zero.xmm());
  int64_t left = inst.bytes;
  a.lea(x86::rdx, At(inst.memory));
  if (left > kMaxUnrolledMemset) {
    const int64_t step = 4 * width;
    asmjit::Label head = a.newLabel();
    a.mov(x86::rax, left / step);
    a.bind(head);
    for (int k = 0; k < 4; ++k) {
      a.vmovups(x86::ptr(x86::rdx, k * width), zero);
    }
    a.add(x86::rdx, step);
    a.dec(x86::rax);
    a.jnz(head);
    left %= step;
  }
  int32_t at = 0;
  for (int bytes = width; bytes >= 16; bytes /= 2) {
    for (; left >= bytes; left -= bytes, at += bytes) {
      a.vmovups(x86::ptr(x86::rdx, at), VecOf(zero.id(), bytes));
    }
  }
  for (int bytes = 8; bytes >= 1; bytes /= 2) {
    for (; left >= bytes; left -= bytes, at += bytes) {
      a.mov(x86::ptr(x86::rdx, at, bytes), 0);
    }
  }
}

}  // namespace ocannl::jit
