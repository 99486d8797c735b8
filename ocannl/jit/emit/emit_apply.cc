// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include "absl/algorithm/container.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

namespace x86 = asmjit::x86;
namespace Ids = x86::Inst;

// In the order of the roundings of vroundps.
constexpr Op kRoundings[] = {Op::kRound, Op::kFloor, Op::kCeil, Op::kTrunc};
constexpr int kNoExceptions = 8;

struct BinaryRow {
  Op op;
  DType dtype;            // kF32: floats; kI32: integers; kU32: unsigned ones
  uint32_t of_32, of_64;  // bits; 0: none
  uint32_t evex_of_32 = 0, evex_of_64 = 0;  // 0: the same
};

// Lanes of u8 and u16 are those of u32; they are zero-extended again after it.
constexpr BinaryRow kBinaryRows[] = {
    {Op::kAdd, DType::kF32, Ids::kIdVaddps, Ids::kIdVaddpd},
    {Op::kSub, DType::kF32, Ids::kIdVsubps, Ids::kIdVsubpd},
    {Op::kMul, DType::kF32, Ids::kIdVmulps, Ids::kIdVmulpd},
    {Op::kDiv, DType::kF32, Ids::kIdVdivps, Ids::kIdVdivpd},
    // a < b ? a : b and a > b ? a : b, as number.h says.
    {Op::kMin, DType::kF32, Ids::kIdVminps, Ids::kIdVminpd},
    {Op::kMax, DType::kF32, Ids::kIdVmaxps, Ids::kIdVmaxpd},
    // The second operand is a mask of bits.
    {Op::kNeg, DType::kF32, Ids::kIdVxorps, Ids::kIdVxorpd},
    {Op::kAbs, DType::kF32, Ids::kIdVandps, Ids::kIdVandpd},
    {Op::kAdd, DType::kI32, Ids::kIdVpaddd, Ids::kIdVpaddq},
    {Op::kSub, DType::kI32, Ids::kIdVpsubd, Ids::kIdVpsubq},
    {Op::kMul, DType::kI32, Ids::kIdVpmulld, 0, 0, Ids::kIdVpmullq},
    {Op::kAnd, DType::kI32, Ids::kIdVpand, Ids::kIdVpand, Ids::kIdVpandd,
     Ids::kIdVpandq},
    {Op::kOr, DType::kI32, Ids::kIdVpor, Ids::kIdVpor, Ids::kIdVpord,
     Ids::kIdVporq},
    {Op::kXor, DType::kI32, Ids::kIdVpxor, Ids::kIdVpxor, Ids::kIdVpxord,
     Ids::kIdVpxorq},
    {Op::kMin, DType::kI32, Ids::kIdVpminsd, 0, 0, Ids::kIdVpminsq},
    {Op::kMin, DType::kU32, Ids::kIdVpminud, 0, 0, Ids::kIdVpminuq},
    {Op::kMax, DType::kI32, Ids::kIdVpmaxsd, 0, 0, Ids::kIdVpmaxsq},
    {Op::kMax, DType::kU32, Ids::kIdVpmaxud, 0, 0, Ids::kIdVpmaxuq},
    {Op::kShl, DType::kI32, Ids::kIdVpsllvd, Ids::kIdVpsllvq},
    {Op::kShr, DType::kI32, Ids::kIdVpsravd, 0, 0, Ids::kIdVpsravq},
    {Op::kShr, DType::kU32, Ids::kIdVpsrlvd, Ids::kIdVpsrlvq},
    {Op::kRotl, DType::kI32, 0, 0, Ids::kIdVprolvd, Ids::kIdVprolvq},
};

uint32_t BinaryId(Op op, DType dtype, bool has_evex) {
  const bool wide = SizeOf(dtype) == 8;
  if (SizeOf(dtype) < 4 && op == Op::kRotl) return 0;
  const bool has_sign = op == Op::kMin || op == Op::kMax || op == Op::kShr;
  const bool is_unsigned = has_sign && !IsSigned(dtype);
  if (dtype == DType::kF64) dtype = DType::kF32;
  if (IsInteger(dtype)) dtype = is_unsigned ? DType::kU32 : DType::kI32;
  for (const BinaryRow& row : kBinaryRows) {
    if (row.op != op || row.dtype != dtype) continue;
    const uint32_t evex = wide ? row.evex_of_64 : row.evex_of_32;
    if (has_evex && evex != 0) return evex;
    return wide ? row.of_64 : row.of_32;
  }
  return 0;
}

}  // namespace

void Emitter::EmitApply(const Inst& inst) {
  bool done = true;
  if (inst.op == Op::kConvert) {
    done = EmitConvert(inst);
  } else if (inst.op == Op::kBitcast) {
    EmitCopy(inst);
  } else if (inst.op == Op::kSelect) {
    EmitSelect(inst);
  } else if (inst.op == Op::kFma) {
    EmitFused(inst);
  } else if (inst.operand == DType::kBool) {
    EmitMaskOp(inst);
  } else if (inst.dtype == DType::kBool) {
    EmitCompare(inst);
  } else if (IsFloat(inst.dtype) && KeepsNan(inst.op)) {
    EmitExtreme(inst);
  } else if (IsFloat(inst.dtype)) {
    done = EmitFloatOp(inst);
  } else {
    done = EmitIntegerOp(inst);
  }
  if (!done) EmitHelperCall(inst);
  Finish(inst);
}

bool Emitter::EmitFloatOp(const Inst& inst) {
  const bool f64 = inst.dtype == DType::kF64;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  Vec dst = Out(inst);
  Vec a = In(inst, 0);
  if (uint32_t id = BinaryId(inst.op, inst.dtype, HasEvex())) {
    Emit(id, dst, a, RegOrMem(inst, 1, bytes));
    return true;
  }
  const auto* rounding = absl::c_find(kRoundings, inst.op);
  if (rounding != std::end(kRoundings)) {
    uint32_t id = HasEvex() ? (f64 ? Ids::kIdVrndscalepd : Ids::kIdVrndscaleps)
                            : (f64 ? Ids::kIdVroundpd : Ids::kIdVroundps);
    Emit(id, dst, a, asmjit::imm(kNoExceptions + (rounding - kRoundings)));
    return true;
  }
  if (inst.op != Op::kSqrt) return false;
  Emit(f64 ? Ids::kIdVsqrtpd : Ids::kIdVsqrtps, dst, a);
  return true;
}

// The instructions of min and max take their second operand if one is NaN: with
// the operands swapped, only a NaN in b is left to be put in, and finding it is
// off the critical path of a reduction.
void Emitter::EmitExtreme(const Inst& inst) {
  const bool f64 = inst.dtype == DType::kF64;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const uint32_t id = BinaryId(inst.op == Op::kMinimum ? Op::kMin : Op::kMax,
                               inst.dtype, HasEvex());
  const Vec dst = Out(inst);
  const Vec a = In(inst, 0);
  const Vec b = In(inst, 1);
  const Vec temp = Temp(0, bytes);
  if (Info(isa_).fixup) {
    const Operand rule = RegOrMem(inst, 2, bytes);
    const Vec extreme = dst == b || rule == dst ? temp : dst;
    Emit(id, extreme, b, a);
    Emit(f64 ? Ids::kIdVfixupimmpd : Ids::kIdVfixupimmps, extreme, b, rule,
         asmjit::imm(0));
    if (extreme != dst) Emit(Ids::kIdVmovaps, dst, extreme);
    return;
  }
  Operand other = b;  // tested beside b
  if (inst.args[2].kind != Value::kNone) other = RegOrMem(inst, 2, bytes);
  Emit(f64 ? Ids::kIdVcmppd : Ids::kIdVcmpps, temp, b, other,
       asmjit::imm(x86::VCmpImm::kUNORD_Q));
  Emit(id, dst, b, a);
  Emit(f64 ? Ids::kIdVorpd : Ids::kIdVorps, dst, dst, temp);
}

// a | (b & c); c may be memory.
void Emitter::EmitOrAnd(const Inst& inst) {
  constexpr uint32_t kA = 0xf0, kB = 0xcc, kC = 0xaa;  // as truth tables
  const uint32_t id =
      SizeOf(inst.dtype) == 8 ? Ids::kIdVpternlogq : Ids::kIdVpternlogd;
  Vec dst = Out(inst);
  Vec a = In(inst, 0);
  Vec b = In(inst, 1);
  Operand c = RegOrMem(inst, 2, BytesOf(inst.dtype, inst.lanes));
  if (dst == b) {
    Emit(id, dst, a, c, asmjit::imm((kA & kC) | kB));
  } else if (c == dst) {
    Emit(id, dst, a, b, asmjit::imm((kA & kC) | kB));
  } else {
    if (dst != a) Emit(Ids::kIdVmovaps, dst, a);
    Emit(id, dst, b, c, asmjit::imm(kA | (kB & kC)));
  }
  Finish(inst);
}

bool Emitter::EmitIntegerOp(const Inst& inst) {
  const bool wide = SizeOf(inst.dtype) == 8;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const uint32_t xor_id = BinaryId(Op::kXor, inst.dtype, HasEvex());
  if (inst.op == Op::kAbs && !IsSigned(inst.dtype)) {
    EmitCopy(inst);
    return true;
  }
  Vec dst = Out(inst);
  if (uint32_t id = BinaryId(inst.op, inst.dtype, HasEvex())) {
    Emit(id, dst, In(inst, 0), RegOrMem(inst, 1, bytes));
  } else if (inst.op == Op::kNeg) {
    Vec zero = Temp(0, bytes);
    Emit(xor_id, zero, zero, zero);
    Emit(wide ? Ids::kIdVpsubq : Ids::kIdVpsubd, dst, zero, In(inst, 0));
  } else if (inst.op == Op::kAbs && (!wide || HasEvex())) {
    Emit(wide ? Ids::kIdVpabsq : Ids::kIdVpabsd, dst, In(inst, 0));
  } else if (inst.op == Op::kNot) {
    Emit(xor_id, dst, In(inst, 0),
         PoolSplat(~uint64_t{0}, wide ? 8 : 4, bytes));
  } else {
    return !HasEvex() && ExpandIntegerOp(inst);
  }
  ZeroExtend(inst.dtype, dst, bytes);
  return true;
}

void Emitter::EmitCompare(const Inst& inst) {
  const int bytes = BytesOf(inst.operand, inst.lanes);
  const bool wide = SizeOf(inst.operand) == 8;
  const int relation = inst.op == Op::kEqual       ? 0
                       : inst.op == Op::kLess      ? 1
                       : inst.op == Op::kLessEqual ? 2
                                                   : 4;
  if (IsFloat(inst.operand)) {
    // The same relations, quiet on NaN.
    const int quiet = relation == 1 || relation == 2 ? relation + 16 : relation;
    const uint32_t id = wide ? Ids::kIdVcmppd : Ids::kIdVcmpps;
    const Operand mask = ComparisonMask(inst);
    Emit(id, mask, In(inst, 0, bytes), RegOrMem(inst, 1, bytes),
         asmjit::imm(quiet));
    return NarrowMask(inst);
  }
  if (!HasEvex()) return CompareIntegers(inst);
  const bool is_signed = IsSigned(inst.operand);
  const uint32_t id = wide ? (is_signed ? Ids::kIdVpcmpq : Ids::kIdVpcmpuq)
                           : (is_signed ? Ids::kIdVpcmpd : Ids::kIdVpcmpud);
  Emit(id, OutMask(inst), In(inst, 0, bytes), In(inst, 1, bytes),
       asmjit::imm(relation));
}

void Emitter::EmitMaskOp(const Inst& inst) {
  // a < b is not a and b; a <= b is not a or b.
  const bool less = inst.op == Op::kLess || inst.op == Op::kLessEqual;
  const bool is_and = inst.op == Op::kAnd || inst.op == Op::kLess;
  const bool is_or = inst.op == Op::kOr || inst.op == Op::kLessEqual;
  const bool masks = HasEvex();
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const Mem ones = masks ? Mem() : PoolSplat(~uint64_t{0}, 4, bytes);
  auto in = [&](int k) {
    return masks ? Operand(InMask(inst, k)) : Operand(In(inst, k));
  };
  auto invert = [&](const Operand& to, const Operand& from) {
    masks ? Emit(Ids::kIdKnotw, to, from) : Emit(Ids::kIdVpxor, to, from, ones);
  };
  const uint32_t id = is_and  ? (masks ? Ids::kIdKandw : Ids::kIdVpand)
                      : is_or ? (masks ? Ids::kIdKorw : Ids::kIdVpor)
                              : (masks ? Ids::kIdKxorw : Ids::kIdVpxor);
  const Operand dst = masks ? Operand(OutMask(inst)) : Operand(Out(inst));
  if (inst.op == Op::kNot) {
    invert(dst, in(0));
  } else if (less) {
    const Operand inverse = masks ? Operand(TempMask(0)) : Temp(0, bytes);
    invert(inverse, in(0));
    Emit(id, dst, inverse, in(1));
  } else if (masks && inst.op == Op::kEqual) {
    Emit(Ids::kIdKxnorw, dst, in(0), in(1));
  } else {
    Emit(id, dst, in(0), in(1));
    if (inst.op == Op::kEqual) invert(dst, dst);
  }
}

void Emitter::EmitSelect(const Inst& inst) {
  const bool zero = inst.args[2].kind == Value::kConst;  // the only constant
  const bool wide = SizeOf(inst.dtype) == 8;
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  if (inst.dtype == DType::kBool && HasEvex()) {
    KReg chosen = TempMask(0);
    KReg other = TempMask(1);
    assembler_.kandw(chosen, InMask(inst, 0), InMask(inst, 1));
    assembler_.kandnw(other, InMask(inst, 0), InMask(inst, 2));
    assembler_.korw(OutMask(inst), chosen, other);
    return;
  }
  Vec dst = Out(inst);
  if (HasEvex()) {
    KReg mask = InMask(inst, 0);
    Operand chosen = RegOrMem(inst, 1, bytes);
    if (zero) {
      assembler_.k(mask).z().emit(wide ? Ids::kIdVmovapd : Ids::kIdVmovaps, dst,
                                  chosen);
    } else {
      Vec other = In(inst, 2);
      assembler_.k(mask).emit(wide ? Ids::kIdVblendmpd : Ids::kIdVblendmps, dst,
                              other, chosen);
    }
    return;
  }
  Vec mask = In(inst, 0, BytesOf(DType::kBool, inst.lanes));
  if (wide) {
    Vec widened = Temp(0, bytes);
    Emit(Ids::kIdVpmovsxdq, widened, mask.xmm());
    mask = widened;
  }
  if (zero) {
    Emit(wide ? Ids::kIdVandpd : Ids::kIdVandps, dst, mask,
         RegOrMem(inst, 1, bytes));
  } else {
    Emit(wide ? Ids::kIdVblendvpd : Ids::kIdVblendvps, dst, In(inst, 2),
         RegOrMem(inst, 1, bytes), mask);
  }
}

}  // namespace ocannl::jit
