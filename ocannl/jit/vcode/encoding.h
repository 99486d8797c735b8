// SPDX-License-Identifier: Apache-2.0
//
// Encoding: the one machine instruction of an instruction of VCode, if it has
// one: a row of encodings.def, or of ENCODED in instructions.def.
#ifndef OCANNL_JIT_VCODE_ENCODING_H_
#define OCANNL_JIT_VCODE_ENCODING_H_

#include <cstdint>

#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

struct Encoding {
  uint32_t id = 0;     // AsmJit's; 0: the instruction is none
  int immediate = -1;  // behind the operands; -1: none
};

// The one that the set has; none for those that the emitter has a function of
// (INSTRUCTION). A constant amount in `args` is the immediate of a shift.
Encoding EncodingOf(const Inst& inst, Isa isa);

// The role of the last operand of a kApply, on any set.
OpcodeInfo::Role LastRole(const Inst& inst);

// Whether operand k is the immediate of a shift.
inline bool IsImmediate(const Inst& inst, int k) {
  return inst.opcode == Opcode::kApply && k == 1 &&
         (inst.op == Op::kShl || inst.op == Op::kShr || inst.op == Op::kRotl) &&
         inst.args[1].kind == Value::kConst;
}

// Whether lanes have 64 bits, and not 32.
inline bool IsWide(DType dtype) { return SizeOf(dtype) == 8; }

// The bytes of a register with as many lanes of the type, 16 at least.
int BytesOf(DType dtype, int lanes);

// The bytes of the result, and of each operand, of an instruction.
int ResultBytes(const Inst& inst);
int OperandBytes(const Inst& inst);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_ENCODING_H_
