// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {

namespace Ids = asmjit::x86::Inst;

void Emitter::EmitApply(const Inst& inst) {
  const Encoding encoding = EncodingOf(inst, isa_);
  encoding.id != 0 ? EmitEncoded(inst, encoding) : EmitHelperCall(inst);
  Finish(inst);
}

void Emitter::EmitEncoded(const Inst& inst, const Encoding& encoding) {
  std::array<Operand, 5> operands;
  size_t count = 0;
  auto add = [&](const Operand& operand) { operands[count++] = operand; };
  const bool makes_mask = IsMask(inst.dtype, isa_);
  add(makes_mask ? Operand(OutMask(inst)) : Out(inst, ResultBytes(inst)));
  const bool reads_masks = IsMask(inst.operand, isa_);
  for (int k = 0; k < 3 && inst.args[k].kind != Value::kNone; ++k) {
    if (IsImmediate(inst, k)) {
      const uint64_t bits = nest_->constants[inst.args[k].index].bits;
      const uint64_t width = 8 * SizeOf(inst.dtype);
      add(asmjit::imm(inst.op == Op::kRotl ? bits % width
                                           : std::min(bits, width)));
    } else {
      add(reads_masks ? Operand(InMask(inst, k))
                      : RegOrMem(inst, k, OperandBytes(inst)));
    }
  }
  if (encoding.immediate >= 0) add(asmjit::imm(encoding.immediate));
  assembler_.emitOpArray(encoding.id, operands.data(), count);
}

void Emitter::EmitFixNan(const Inst& inst) {
  const Vec dst = Out(inst);
  const Vec a = In(inst, 0);
  const Vec b = In(inst, 1);
  const Operand rule = RegOrMem(inst, 2, dst.size());
  // A spilled rule is reloaded where a spilled result is computed.
  const Vec fixed = rule == dst ? a : dst;
  if (fixed != a) Emit(Ids::kIdVmovaps, fixed, a);
  Emit(IsWide(inst.dtype) ? Ids::kIdVfixupimmpd : Ids::kIdVfixupimmps, fixed, b,
       rule, asmjit::imm(0));
  if (fixed != dst) Emit(Ids::kIdVmovaps, dst, fixed);
  Finish(inst);
}

// a | (b & c); c may be memory.
void Emitter::EmitOrAnd(const Inst& inst) {
  constexpr uint32_t kA = 0xf0, kB = 0xcc, kC = 0xaa;  // as truth tables
  const uint32_t id =
      IsWide(inst.dtype) ? Ids::kIdVpternlogq : Ids::kIdVpternlogd;
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

// By a mask of the numbers' own width, or of mask registers.
void Emitter::EmitSelect(const Inst& inst) {
  const bool zero = inst.args[2].kind == Value::kConst;  // the only constant
  const bool wide = IsWide(inst.dtype);
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  const Vec dst = Out(inst);
  if (!HasEvex()) {
    const Vec mask = In(inst, 0, bytes);
    const Operand chosen = RegOrMem(inst, 1, bytes);
    if (zero) {
      Emit(wide ? Ids::kIdVandpd : Ids::kIdVandps, dst, mask, chosen);
    } else {
      Emit(wide ? Ids::kIdVblendvpd : Ids::kIdVblendvps, dst, In(inst, 2),
           chosen, mask);
    }
    return Finish(inst);
  }
  // All reloads come before the mask is set, for the next instruction alone.
  const KReg mask = InMask(inst, 0);
  if (zero && inst.args[1].kind == Value::kConst) {
    assembler_.k(mask).z();
    LoadConstant(dst, inst.dtype, nest_->constants[inst.args[1].index].bits);
    return Finish(inst);
  }
  const Operand chosen = RegOrMem(inst, 1, bytes);
  if (zero) {
    assembler_.k(mask).z().emit(wide ? Ids::kIdVmovapd : Ids::kIdVmovaps, dst,
                                chosen);
  } else {
    const Vec other = In(inst, 2);
    assembler_.k(mask).emit(wide ? Ids::kIdVblendmpd : Ids::kIdVblendmps, dst,
                            other, chosen);
  }
  Finish(inst);
}

}  // namespace ocannl::jit
