// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ocannl/core/base/check.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

namespace x86 = asmjit::x86;
namespace Ids = x86::Inst;

bool IsWide(DType dtype) { return SizeOf(dtype) == 8; }

// The instructions that convert to f32 and to f64.
struct ToFloatRow {
  DType from;
  uint32_t f32, f64;
};

// The lanes of u8 and u16 are those of i32.
constexpr ToFloatRow kToFloatRows[] = {
    {DType::kF32, 0, Ids::kIdVcvtps2pd},
    {DType::kF64, Ids::kIdVcvtpd2ps, 0},
    {DType::kU8, Ids::kIdVcvtdq2ps, Ids::kIdVcvtdq2pd},
    {DType::kU16, Ids::kIdVcvtdq2ps, Ids::kIdVcvtdq2pd},
    {DType::kI32, Ids::kIdVcvtdq2ps, Ids::kIdVcvtdq2pd},
    {DType::kU32, Ids::kIdVcvtudq2ps, Ids::kIdVcvtudq2pd},
    {DType::kI64, Ids::kIdVcvtqq2ps, Ids::kIdVcvtqq2pd},
    {DType::kU64, Ids::kIdVcvtuqq2ps, Ids::kIdVcvtuqq2pd}};

}  // namespace

bool Emitter::EmitConvert(const Inst& inst) {
  if (inst.dtype == inst.operand) {
    EmitCopy(inst);
    return true;
  }
  if (inst.operand == DType::kBool) return ConvertFromBool(inst);
  if (IsNarrow(inst.operand)) return WidenFloat(inst);
  if (IsNarrow(inst.dtype)) return NarrowFloat(inst);
  if (inst.dtype == DType::kBool) return ConvertToBool(inst);
  if (IsFloat(inst.dtype)) return ConvertToFloat(inst);
  return IsFloat(inst.operand) ? ConvertToInteger(inst) : ConvertInteger(inst);
}

bool Emitter::ConvertFromBool(const Inst& inst) {
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const uint64_t one = MakeConstant(inst.dtype, 1).bits;
  const int size = IsWide(inst.dtype) ? 8 : 4;
  Vec dst = Out(inst);
  if (HasEvex()) {
    assembler_.k(InMask(inst, 0)).z();
    LoadConstant(dst, inst.dtype, one);
    return true;
  }
  Vec mask = In(inst, 0, BytesOf(DType::kBool, inst.lanes));
  if (size == 8) {
    Vec wide = Temp(0, bytes);
    Emit(Ids::kIdVpmovsxdq, wide, mask.xmm());
    mask = wide;
  }
  Emit(Ids::kIdVpand, dst, mask, PoolSplat(one, size, bytes));
  return true;
}

// Whether each number is not 0.
bool Emitter::ConvertToBool(const Inst& inst) {
  const bool wide = IsWide(inst.operand);
  const int bytes = BytesOf(inst.operand, inst.lanes);
  const Vec from = In(inst, 0, bytes);
  if (HasEvex() && IsInteger(inst.operand)) {
    Emit(wide ? Ids::kIdVptestmq : Ids::kIdVptestmd, OutMask(inst), from, from);
    return true;
  }
  const Vec zero = Temp(0, bytes);
  const Operand mask = ComparisonMask(inst);
  assembler_.vxorps(zero, zero, zero);
  if (IsFloat(inst.operand)) {
    Emit(wide ? Ids::kIdVcmppd : Ids::kIdVcmpps, mask, from, zero,
         asmjit::imm(x86::VCmpImm::kNEQ_UQ));
  } else {
    Emit(wide ? Ids::kIdVpcmpeqq : Ids::kIdVpcmpeqd, mask, from, zero);
    Emit(Ids::kIdVpxor, mask, mask, PoolSplat(~uint64_t{0}, 4, bytes));
  }
  NarrowMask(inst);
  return true;
}

// Where a comparison leaves the mask of which NarrowMask makes the result: with
// vectors for masks, in lanes as wide as the numbers.
Emitter::Operand Emitter::ComparisonMask(const Inst& inst) {
  if (HasEvex()) return OutMask(inst);
  return SizeOf(inst.operand) == 8 ? Temp(0, BytesOf(inst.operand, inst.lanes))
                                   : Out(inst);
}

void Emitter::NarrowMask(const Inst& inst) {
  if (HasEvex() || SizeOf(inst.operand) < 8) return;
  PackWide(Out(inst), Temp(0, BytesOf(inst.operand, inst.lanes)), inst.lanes);
}

// The low halves of lanes of 64 bits.
void Emitter::PackWide(const Vec& dst, const Vec& wide, int lanes) {
  if (HasEvex()) return Emit(Ids::kIdVpmovqd, dst, wide);
  if (lanes == 1) return Emit(Ids::kIdVmovaps, dst.xmm(), wide.xmm());
  CHECK(lanes == 4) << lanes;
  const Vec high = dst.id() == wide.id() ? Temp(0, 16) : dst.xmm();
  Emit(Ids::kIdVextractf128, high, wide.ymm(), asmjit::imm(1));
  Emit(Ids::kIdVshufps, dst.xmm(), wide.xmm(), high, asmjit::imm(0x88));
}

// Between integers: lanes of 32 bits hold u8, u16, i32 and u32.
bool Emitter::ConvertInteger(const Inst& inst) {
  const int to = BytesOf(inst.dtype, inst.lanes);
  const int from = BytesOf(inst.operand, inst.lanes);
  Vec dst = Out(inst);
  Vec source = In(inst, 0, from);
  if (IsWide(inst.dtype) == IsWide(inst.operand)) {
    if (dst != source) Emit(Ids::kIdVmovaps, dst, source);
  } else if (IsWide(inst.dtype)) {
    Vec half = VecOf(source.id(), std::max(16, to / 2));
    Emit(inst.operand == DType::kI32 ? Ids::kIdVpmovsxdq : Ids::kIdVpmovzxdq,
         dst, half);
  } else {
    PackWide(dst, source, inst.lanes);
  }
  ZeroExtend(inst.dtype, dst, to);
  return true;
}

// Clears the bits that an integer of less than 32 bits does not have.
void Emitter::ZeroExtend(DType dtype, const Vec& lanes, int bytes) {
  const size_t size = SizeOf(dtype);
  if (size >= 4) return;
  Emit(HasEvex() ? Ids::kIdVpandd : Ids::kIdVpand, lanes, lanes,
       PoolSplat((uint64_t{1} << (8 * size)) - 1, 4, bytes));
}

bool Emitter::ConvertToFloat(const Inst& inst) {
  if (inst.operand == DType::kU32 && !HasEvex()) return ConvertU32ToFloat(inst);
  for (const ToFloatRow& row : kToFloatRows) {
    if (row.from != inst.operand) continue;
    if (IsInteger(row.from) && IsWide(row.from) && !HasEvex()) return false;
    Emit(inst.dtype == DType::kF64 ? row.f64 : row.f32, Out(inst),
         In(inst, 0, BytesOf(inst.operand, inst.lanes)));
    return true;
  }
  return false;
}

// Saturates; NaN becomes 0.
bool Emitter::ConvertToInteger(const Inst& inst) {
  const bool is_i32 = inst.dtype == DType::kI32;
  if (inst.operand != DType::kF32 || IsWide(inst.dtype)) return false;
  if (!HasEvex() && SizeOf(inst.dtype) == 4) return ConvertF32ToI32(inst);
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const Vec from = In(inst, 0, bytes);
  const Vec cut = Temp(0, bytes);
  if (!is_i32) {
    // max(a, 0) is 0 where a is NaN.
    assembler_.vxorps(cut, cut, cut);
    assembler_.vmaxps(cut, from, cut);
    if (inst.dtype == DType::kU32) {
      // Numbers beyond the range give all ones, the greatest.
      Emit(Ids::kIdVcvttps2udq, Out(inst), cut);
      return true;
    }
    const uint64_t most = inst.dtype == DType::kU8 ? 0x437f0000 : 0x477fff00;
    Emit(Ids::kIdVminps, cut, cut, PoolSplat(most, 4, bytes));
    Emit(Ids::kIdVcvttps2dq, Out(inst), cut);
    return true;
  }
  // Numbers beyond the range give the least.
  const KReg mask = TempMask(0), number = TempMask(1);
  Emit(Ids::kIdVcmpps, mask, from, PoolSplat(0x4f000000, 4, bytes),
       asmjit::imm(x86::VCmpImm::kGE_OQ));
  Emit(Ids::kIdVcmpps, number, from, from, asmjit::imm(x86::VCmpImm::kORD_Q));
  Emit(Ids::kIdVcvttps2dq, cut, from);
  assembler_.k(mask);
  LoadConstant(cut, DType::kI32, 0x7fffffff);
  assembler_.k(number).z().emit(Ids::kIdVmovaps, Out(inst), cut);
  return true;
}

// Between f32 and the floats of 8 and 16 bits, which lanes of 32 bits hold as
// memory does, with zeros above.
bool Emitter::WidenFloat(const Inst& inst) {
  if (inst.dtype != DType::kF32) return false;
  const int bytes = BytesOf(DType::kF32, inst.lanes);
  Vec dst = Out(inst);
  Vec from = In(inst, 0, bytes);
  switch (inst.operand) {
    case DType::kBF16:
      Emit(Ids::kIdVpslld, dst, from, asmjit::imm(16));
      return true;
    case DType::kF8E5M2:  // the high byte of an f16
      Emit(Ids::kIdVpslld, dst, from, asmjit::imm(8));
      from = dst;
      [[fallthrough]];
    case DType::kF16: {
      Vec packed = PackWords(from, bytes);
      Emit(Ids::kIdVcvtph2ps, dst, packed);
      return true;
    }
    default:
      return false;
  }
}

// Rounds to even; every NaN becomes the same one.
bool Emitter::NarrowFloat(const Inst& inst) {
  const bool is_f16 = inst.dtype == DType::kF16;
  if (inst.operand != DType::kF32) return false;
  if (!is_f16 && inst.dtype != DType::kBF16) return false;
  const int bytes = BytesOf(DType::kF32, inst.lanes);
  Vec dst = Out(inst);
  Vec from = In(inst, 0, bytes);
  Vec rounded = Temp(0, bytes);
  if (is_f16) {
    const int to_nearest_even = 0;
    Vec packed = Temp(0, std::max(16, bytes / 2));
    Emit(Ids::kIdVcvtps2ph, packed, from, asmjit::imm(to_nearest_even));
    Emit(Ids::kIdVpmovzxwd, rounded, packed);
  } else {
    // (x + 0x7fff + bit 16 of x) >> 16
    Emit(Ids::kIdVpsrld, rounded, from, asmjit::imm(16));
    Emit(HasEvex() ? Ids::kIdVpandd : Ids::kIdVpand, rounded, rounded,
         PoolSplat(1, 4, bytes));
    Emit(Ids::kIdVpaddd, rounded, rounded, from);
    Emit(Ids::kIdVpaddd, rounded, rounded, PoolSplat(0x7fff, 4, bytes));
    Emit(Ids::kIdVpsrld, rounded, rounded, asmjit::imm(16));
  }
  const asmjit::Imm unordered(x86::VCmpImm::kUNORD_Q);
  const uint32_t nan = is_f16 ? F16::kNaN : BF16::kNaN;
  if (HasEvex()) {
    KReg is_nan = TempMask(0);
    Emit(Ids::kIdVcmpps, is_nan, from, from, unordered);
    assembler_.k(is_nan);
    LoadConstant(rounded, DType::kF32, nan);
    Emit(Ids::kIdVmovaps, dst, rounded);
  } else {
    Vec is_nan = Temp(1, bytes);
    Emit(Ids::kIdVcmpps, is_nan, from, from, unordered);
    Emit(Ids::kIdVblendvps, dst, rounded, PoolSplat(nan, 4, bytes), is_nan);
  }
  return true;
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

}  // namespace ocannl::jit
