// SPDX-License-Identifier: Apache-2.0
//
// Fused multiplications and additions. A negation of an operand is part of the
// machine instruction.
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
