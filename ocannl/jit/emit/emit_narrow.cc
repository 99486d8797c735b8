// SPDX-License-Identifier: Apache-2.0
//
// Between f32 and the floats of 8 and 16 bits, which lanes of 32 bits hold as
// memory does, with zeros above.
#include <algorithm>
#include <string>

#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace Ids = asmjit::x86::Inst;

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
    Emit(Has512() ? Ids::kIdVpandd : Ids::kIdVpand, rounded, rounded,
         PoolSplat(1, 4, bytes));
    Emit(Ids::kIdVpaddd, rounded, rounded, from);
    Emit(Ids::kIdVpaddd, rounded, rounded, PoolSplat(0x7fff, 4, bytes));
    Emit(Ids::kIdVpsrld, rounded, rounded, asmjit::imm(16));
  }
  const uint32_t nan = is_f16 ? F16::kNaN : BF16::kNaN;
  const int unordered = 3;
  if (Has512()) {
    KReg is_nan = TempMask(0);
    Emit(Ids::kIdVcmpps, is_nan, from, from, asmjit::imm(unordered));
    assembler_.k(is_nan).emit(
        Ids::kIdVpbroadcastd, rounded,
        Pool(std::string(reinterpret_cast<const char*>(&nan), 4)));
    Emit(Ids::kIdVmovaps, dst, rounded);
  } else {
    Vec is_nan = Temp(1, bytes);
    Emit(Ids::kIdVcmpps, is_nan, from, from, asmjit::imm(unordered));
    Emit(Ids::kIdVblendvps, dst, rounded, PoolSplat(nan, 4, bytes), is_nan);
  }
  return true;
}

// The low halves of lanes of 32 bits, which hold no more, in the first temp.
Emitter::Vec Emitter::PackWords(const Vec& lanes, int bytes) {
  Vec packed = Temp(0, std::max(16, bytes / 2));
  if (Has512()) {
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
