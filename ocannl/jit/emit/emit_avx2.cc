// SPDX-License-Identifier: Apache-2.0
//
// Expansions into AVX2 of what is one instruction of AVX-512.
#include <algorithm>
#include <utility>

#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

namespace x86 = asmjit::x86;
namespace Ids = x86::Inst;

constexpr uint64_t kOnes = ~uint64_t{0};

uint64_t SignBit(int size) { return uint64_t{1} << (8 * size - 1); }

}  // namespace

// Sets the lanes of the first temp in which a > b; of unsigned numbers, uses
// the second one.
Emitter::Vec Emitter::Greater(DType dtype, Vec a, Vec b, int bytes) {
  const int size = SizeOf(dtype) == 8 ? 8 : 4;
  Vec mask = Temp(0, bytes);
  // Lanes of u8 and u16 have no sign bit.
  if (!IsSigned(dtype) && SizeOf(dtype) >= 4) {
    // There are comparisons of signed numbers only.
    Mem sign = PoolSplat(SignBit(size), size, bytes);
    Vec other = Temp(1, bytes);
    Emit(Ids::kIdVpxor, mask, a, sign);
    Emit(Ids::kIdVpxor, other, b, sign);
    a = mask;
    b = other;
  }
  Emit(size == 8 ? Ids::kIdVpcmpgtq : Ids::kIdVpcmpgtd, mask, a, b);
  return mask;
}

void Emitter::CompareIntegers(const Inst& inst) {
  const int bytes = BytesOf(inst.operand, inst.lanes);
  const bool wide = SizeOf(inst.operand) == 8;
  Vec a = In(inst, 0, bytes);
  Vec b = In(inst, 1, bytes);
  Vec mask = Temp(0, bytes);
  if (inst.op == Op::kLess) {
    mask = Greater(inst.operand, b, a, bytes);
  } else if (inst.op == Op::kLessEqual) {
    mask = Greater(inst.operand, a, b, bytes);
  } else {
    Emit(wide ? Ids::kIdVpcmpeqq : Ids::kIdVpcmpeqd, mask, a, b);
  }
  if (inst.op == Op::kLessEqual || inst.op == Op::kNotEqual) {
    Emit(Ids::kIdVpxor, mask, mask, PoolSplat(kOnes, 4, bytes));
  }
  if (!wide) Emit(Ids::kIdVmovaps, Out(inst), mask);
  NarrowMask(inst);
}

bool Emitter::ExpandIntegerOp(const Inst& inst) {
  if (inst.op == Op::kRotl && SizeOf(inst.dtype) >= 4) return RotateBits(inst);
  if (SizeOf(inst.dtype) != 8) return false;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  Vec dst = Out(inst);
  Vec a = In(inst, 0);
  switch (inst.op) {
    case Op::kMul:
      MultiplyWide(dst, a, In(inst, 1), bytes);
      return true;
    case Op::kMin:
    case Op::kMax: {
      Vec b = In(inst, 1);
      Vec mask = Greater(inst.dtype, a, b, bytes);
      if (inst.op == Op::kMax) std::swap(a, b);
      Emit(Ids::kIdVblendvpd, dst, a, b, mask);
      return true;
    }
    case Op::kAbs:
    case Op::kShr: {
      // Of a negative number: the complement, shifted, and back.
      Vec sign = Temp(0, bytes);
      Emit(Ids::kIdVpxor, sign, sign, sign);
      Emit(Ids::kIdVpcmpgtq, sign, sign, a);
      Vec positive = Temp(1, bytes);
      Emit(Ids::kIdVpxor, positive, a, sign);
      if (inst.op == Op::kAbs) {
        Emit(Ids::kIdVpsubq, dst, positive, sign);
      } else {
        Emit(Ids::kIdVpsrlvq, positive, positive, In(inst, 1));
        Emit(Ids::kIdVpxor, dst, positive, sign);
      }
      return true;
    }
    default:
      return false;
  }
}

// The low halves' product, and the sum of the mixed ones above it.
void Emitter::MultiplyWide(const Vec& dst, const Vec& a, const Vec& b,
                           int bytes) {
  Vec mixed = Temp(0, bytes);
  Vec other = Temp(1, bytes);
  Emit(Ids::kIdVpshufd, mixed, b, asmjit::imm(0xb1));
  Emit(Ids::kIdVpmulld, mixed, mixed, a);
  Emit(Ids::kIdVpsrlq, other, mixed, asmjit::imm(32));
  Emit(Ids::kIdVpaddd, mixed, mixed, other);
  Emit(Ids::kIdVpsllq, mixed, mixed, asmjit::imm(32));
  Emit(Ids::kIdVpmuludq, dst, a, b);
  Emit(Ids::kIdVpaddq, dst, dst, mixed);
}

// Shifts by n and by width - n, which is all of the bits where n is 0.
bool Emitter::RotateBits(const Inst& inst) {
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const bool wide = SizeOf(inst.dtype) == 8;
  const int size = wide ? 8 : 4;
  Mem most = PoolSplat(8 * size - 1, size, bytes);
  Vec a = In(inst, 0);
  Vec left = Temp(0, bytes);
  Vec amount = Temp(1, bytes);
  Emit(Ids::kIdVpand, amount, In(inst, 1), most);
  Emit(wide ? Ids::kIdVpsllvq : Ids::kIdVpsllvd, left, a, amount);
  // width - n is the complement of n, plus 1.
  Emit(Ids::kIdVpxor, amount, amount, most);
  Emit(wide ? Ids::kIdVpsubq : Ids::kIdVpsubd, amount, amount,
       PoolSplat(kOnes, size, bytes));
  Emit(wide ? Ids::kIdVpsrlvq : Ids::kIdVpsrlvd, amount, a, amount);
  Emit(Ids::kIdVpor, Out(inst), left, amount);
  return true;
}

bool Emitter::ConvertU32ToFloat(const Inst& inst) {
  const int from = BytesOf(inst.operand, inst.lanes);
  Vec source = In(inst, 0, from);
  Vec high = Temp(0, from);
  if (inst.dtype == DType::kF64) {
    // As a signed number that is less by 2^31, which f64 takes back exactly.
    const int to = BytesOf(inst.dtype, inst.lanes);
    Emit(Ids::kIdVpxor, high, source, PoolSplat(SignBit(4), 4, from));
    Emit(Ids::kIdVcvtdq2pd, Out(inst), VecOf(high.id(), std::max(16, to / 2)));
    Emit(Ids::kIdVaddpd, Out(inst), Out(inst),
         PoolSplat(0x41e0000000000000, 8, to));
    return true;
  }
  // Both halves are exact; their sum rounds once.
  Vec low = Temp(1, from);
  Emit(Ids::kIdVpsrld, high, source, asmjit::imm(16));
  Emit(Ids::kIdVcvtdq2ps, high, high);
  Emit(Ids::kIdVmulps, high, high, PoolSplat(0x47800000, 4, from));  // 2^16
  Emit(Ids::kIdVpand, low, source, PoolSplat(0xffff, 4, from));
  Emit(Ids::kIdVcvtdq2ps, low, low);
  Emit(Ids::kIdVaddps, Out(inst), high, low);
  return true;
}

// vcvttps2dq makes the least number of what is beyond the range.
bool Emitter::ConvertF32ToI32(const Inst& inst) {
  if (inst.dtype != DType::kI32) return false;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  Vec from = In(inst, 0, bytes);
  Vec above = Temp(0, bytes);
  Vec number = Temp(1, bytes);
  Emit(Ids::kIdVcmpps, above, from, PoolSplat(0x4f000000, 4, bytes),
       asmjit::imm(x86::VCmpImm::kGE_OQ));
  Emit(Ids::kIdVcvttps2dq, number, from);
  // The least becomes the greatest.
  Emit(Ids::kIdVpxor, above, above, number);
  Emit(Ids::kIdVcmpps, number, from, from, asmjit::imm(x86::VCmpImm::kORD_Q));
  Emit(Ids::kIdVpand, Out(inst), above, number);
  return true;
}

}  // namespace ocannl::jit
