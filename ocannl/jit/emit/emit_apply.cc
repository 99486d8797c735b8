// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {
namespace {

namespace Ids = asmjit::x86::Inst;

// The machine instructions by the operand that is in dst and gets lost.
struct FmaForms {
  uint32_t c, a;
  uint32_t a_of_memory_b;  // b may be memory, and not c
};

const FmaForms& FormsOf(const Inst& inst) {
  static constexpr FmaForms kFma[] = {
      {Ids::kIdVfmadd231ps, Ids::kIdVfmadd213ps, Ids::kIdVfmadd132ps},
      {Ids::kIdVfmadd231pd, Ids::kIdVfmadd213pd, Ids::kIdVfmadd132pd}};
  static constexpr FmaForms kFnmadd[] = {
      {Ids::kIdVfnmadd231ps, Ids::kIdVfnmadd213ps, Ids::kIdVfnmadd132ps},
      {Ids::kIdVfnmadd231pd, Ids::kIdVfnmadd213pd, Ids::kIdVfnmadd132pd}};
  static constexpr FmaForms kFmsub[] = {
      {Ids::kIdVfmsub231ps, Ids::kIdVfmsub213ps, Ids::kIdVfmsub132ps},
      {Ids::kIdVfmsub231pd, Ids::kIdVfmsub213pd, Ids::kIdVfmsub132pd}};
  const bool f64 = inst.dtype == DType::kF64;
  if (inst.opcode == Opcode::kFnmadd) return kFnmadd[f64];
  return inst.opcode == Opcode::kFmsub ? kFmsub[f64] : kFma[f64];
}

}  // namespace

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
      const uint64_t bits = code_->constants[inst.args[k].index].bits;
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
    LoadConstant(dst, inst.dtype, code_->constants[inst.args[1].index].bits);
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

// One of the second and the third operand may be memory.
void Emitter::EmitFused(const Inst& inst) {
  const FmaForms& forms = FormsOf(inst);
  const int bytes = BytesOf(inst.dtype, inst.lanes);
  Vec dst = Out(inst);
  Vec a = In(inst, 0);
  Operand b = RegOrMem(inst, 1, bytes);
  Operand c = RegOrMem(inst, 2, bytes);
  if (c == dst) {
    Emit(forms.c, dst, a, b);
  } else if (b == dst) {
    Emit(forms.a, dst, a, c);
  } else if (c.isMem()) {
    if (dst != a) assembler_.vmovaps(dst, a);
    Emit(forms.a, dst, b, c);
  } else if (dst == a) {
    b.isMem() ? Emit(forms.a_of_memory_b, dst, c, b) : Emit(forms.a, dst, b, c);
  } else {
    Emit(Ids::kIdVmovaps, dst, c);
    Emit(forms.c, dst, a, b);
  }
  Finish(inst);
}

void Emitter::EmitFma(const Inst& inst) { EmitFused(inst); }
void Emitter::EmitFnmadd(const Inst& inst) { EmitFused(inst); }
void Emitter::EmitFmsub(const Inst& inst) { EmitFused(inst); }

}  // namespace ocannl::jit
