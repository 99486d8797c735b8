// SPDX-License-Identifier: Apache-2.0
//
// What the operands and the result of an instruction may be, and which
// registers it needs beside theirs.
#ifndef OCANNL_JIT_VCODE_OPERANDS_H_
#define OCANNL_JIT_VCODE_OPERANDS_H_

#include "ocannl/core/ops/op.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Whether the lanes of its memory are one after the other.
bool IsContiguous(const Inst& inst);

// Whether the operation is minimum or maximum, which give NaN where an operand
// is NaN.
inline bool KeepsNan(Op op) { return op == Op::kMinimum || op == Op::kMaximum; }

// The role of operand k, and how many there are.
OpcodeInfo::Role RoleOf(const Inst& inst, int k);
int NumOperands(const Inst& inst);

// Whether operand k may be a constant (or an immediate), or memory, as its role
// and the other operands are: a machine instruction has one memory operand.
bool CanBe(Value::Kind kind, const Inst& inst, int k);

// Whether what it loads can be a memory operand; one number for all lanes can
// be with `broadcast`.
bool CanFold(const Inst& load, bool broadcast);

// Whether `reg` may be the result of `inst`, by its lanes: `inst` defines all
// of them, or, if `reg` is mutable, the lower ones. Lanes of an extract or
// insert are counted in the register that it extracts from or inserts into.
bool CanDefine(const Inst& inst, const Register& reg);

// Whether the first two operands commute.
bool Commutes(const Inst& inst);

// Canonicalises a commutative op: the operand that can be memory comes last.
void OrderOperands(Inst& inst);

// The temporaries of an instruction that expands into several of the machine.
struct Temps {
  int vectors = 0;
  int masks = 0;
};
Temps TempsOf(const Nest& nest, const Inst& inst, Isa isa);

// Whether a mask register, with `masks`, leaves out lanes of memory or of the
// result: `mask`, or else the last temp.
bool ReadsLanes(const Nest& nest, const Inst& inst, bool masks);

// The first of those lanes; the others, `active_lanes` in all, follow.
inline uint8_t FirstLane(const Inst& inst) {
  return inst.opcode == Opcode::kInsert ? inst.lane : 0;
}

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_OPERANDS_H_
