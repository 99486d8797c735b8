// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/check.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

namespace x86 = asmjit::x86;
namespace Ids = x86::Inst;

bool IsWide(DType dtype) { return SizeOf(dtype) == 8; }

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
  if (Has512()) {
    Mem number = Pool(std::string(reinterpret_cast<const char*>(&one), size));
    assembler_.k(InMask(inst, 0))
        .z()
        .emit(size == 8 ? Ids::kIdVpbroadcastq : Ids::kIdVpbroadcastd, dst,
              number);
    return true;
  }
  Vec mask = In(inst, 0, BytesOf(DType::kBool, inst.lanes));
  if (size == 8) {
    Vec wide = Scratch(0, bytes);
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
  Vec from = In(inst, 0, bytes);
  Vec zero = Scratch(0, bytes);
  const int not_equal = 4;
  if (IsFloat(inst.operand)) {
    const uint32_t id = wide ? Ids::kIdVcmppd : Ids::kIdVcmpps;
    assembler_.vxorps(zero, zero, zero);
    if (Has512()) {
      Emit(id, OutMask(inst), from, zero, asmjit::imm(not_equal));
    } else if (wide) {
      Emit(id, zero, from, zero, asmjit::imm(not_equal));
      NarrowMask(Out(inst), zero, inst.lanes);
    } else {
      Emit(id, Out(inst), from, zero, asmjit::imm(not_equal));
    }
    return true;
  }
  if (Has512()) {
    Emit(wide ? Ids::kIdVptestmq : Ids::kIdVptestmd, OutMask(inst), from, from);
    return true;
  }
  assembler_.vpxor(zero, zero, zero);
  Emit(wide ? Ids::kIdVpcmpeqq : Ids::kIdVpcmpeqd, zero, from, zero);
  Emit(Ids::kIdVpxor, zero, zero, PoolSplat(~uint64_t{0}, 4, bytes));
  if (wide) {
    NarrowMask(Out(inst), zero, inst.lanes);
  } else {
    Emit(Ids::kIdVmovaps, Out(inst), zero);
  }
  return true;
}

// Without AVX-512, masks have 32 bits a lane. May use the second scratch.
void Emitter::NarrowMask(const Vec& dst, const Vec& wide, int lanes) {
  if (lanes == 1) {
    assembler_.vmovaps(dst.xmm(), wide.xmm());
    return;
  }
  CHECK(lanes == 4) << lanes;
  Vec high = Scratch(1, 16);
  assembler_.emit(Ids::kIdVextractf128, high, wide.ymm(), asmjit::imm(1));
  assembler_.emit(Ids::kIdVshufps, dst.xmm(), wide.xmm(), high,
                  asmjit::imm(0x88));
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
  } else if (Has512()) {
    Emit(Ids::kIdVpmovqd, dst, source);
  } else {
    NarrowMask(dst, source, inst.lanes);
  }
  ZeroExtend(inst.dtype, dst, to);
  return true;
}

// Clears the bits that an integer of less than 32 bits does not have.
void Emitter::ZeroExtend(DType dtype, const Vec& lanes, int bytes) {
  const size_t size = SizeOf(dtype);
  if (size >= 4) return;
  Emit(Has512() ? Ids::kIdVpandd : Ids::kIdVpand, lanes, lanes,
       PoolSplat((uint64_t{1} << (8 * size)) - 1, 4, bytes));
}

bool Emitter::ConvertToFloat(const Inst& inst) {
  const bool f64 = inst.dtype == DType::kF64;
  const int to = BytesOf(inst.dtype, inst.lanes);
  const int from = BytesOf(inst.operand, inst.lanes);
  uint32_t id = 0;
  switch (inst.operand) {
    case DType::kF32:
      id = Ids::kIdVcvtps2pd;
      break;
    case DType::kF64:
      id = Ids::kIdVcvtpd2ps;
      break;
    case DType::kU8:
    case DType::kU16:
    case DType::kI32:
      id = f64 ? Ids::kIdVcvtdq2pd : Ids::kIdVcvtdq2ps;
      break;
    case DType::kU32:
      id = f64 ? Ids::kIdVcvtudq2pd : Ids::kIdVcvtudq2ps;
      break;
    case DType::kI64:
      id = f64 ? Ids::kIdVcvtqq2pd : Ids::kIdVcvtqq2ps;
      break;
    case DType::kU64:
      id = f64 ? Ids::kIdVcvtuqq2pd : Ids::kIdVcvtuqq2ps;
      break;
    default:
      return false;
  }
  const bool needs_512 = inst.operand == DType::kU32 ||
                         (IsInteger(inst.operand) && IsWide(inst.operand));
  if (needs_512 && !Has512()) {
    if (inst.operand != DType::kU32) return false;
    ConvertU32ToFloat(inst);
    return true;
  }
  Emit(id, Out(inst, to), In(inst, 0, from));
  return true;
}

// Saturates; NaN becomes 0.
bool Emitter::ConvertToInteger(const Inst& inst) {
  if (inst.operand != DType::kF32) return false;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  Vec from = In(inst, 0, bytes);
  Vec cut = Scratch(0, bytes);
  switch (inst.dtype) {
    case DType::kU8:
    case DType::kU16:
      // max(a, 0) is 0 where a is NaN.
      assembler_.vxorps(cut, cut, cut);
      assembler_.vmaxps(cut, from, cut);
      Emit(Ids::kIdVminps, cut, cut,
           PoolSplat(inst.dtype == DType::kU8 ? 0x437f0000 : 0x477fff00, 4,
                     bytes));
      Emit(Ids::kIdVcvttps2dq, Out(inst), cut);
      return true;
    case DType::kU32:
      if (!Has512()) return false;
      // Numbers beyond the range give all ones, the greatest.
      assembler_.vxorps(cut, cut, cut);
      assembler_.vmaxps(cut, from, cut);
      Emit(Ids::kIdVcvttps2udq, Out(inst), cut);
      return true;
    case DType::kI32: {
      if (!Has512()) {
        ConvertF32ToI32(inst);
        return true;
      }
      // Numbers beyond the range give the least.
      KReg mask = ScratchMask(0);
      KReg number = ScratchMask(1);
      const int at_least = 29;
      const int ordered = 7;
      Emit(Ids::kIdVcmpps, mask, from, PoolSplat(0x4f000000, 4, bytes),
           asmjit::imm(at_least));
      Emit(Ids::kIdVcmpps, number, from, from, asmjit::imm(ordered));
      Emit(Ids::kIdVcvttps2dq, cut, from);
      assembler_.k(mask).emit(Ids::kIdVpbroadcastd, cut,
                              Pool(std::string("\xff\xff\xff\x7f", 4)));
      assembler_.k(number).z().emit(Ids::kIdVmovaps, Out(inst), cut);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace ocannl::jit
