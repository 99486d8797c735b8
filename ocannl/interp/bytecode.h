// SPDX-License-Identifier: Apache-2.0
//
// Bytecode: a LoopProgram as the interpreter runs it, on a register machine: a
// flat list of three-address instructions, call-threaded: each holds the
// address of its handler. Operands are the addresses in registers.
//
//   for i1 = 0 to 9 {
//     for i2 = 0 to 3 { z[i1] := fma(x[i1, i2], y[i2], z[i1]); }
//   }
//
//     r0 = &z + 4*i1   r1 = &x + 16*i1 + 4*i2   r2 = &y + 4*i2   r3 = i1
//     fma<float>   *r0 = *r1, *r2, *r0   4 times, with strides 0 = 4, 4, 0
//     end_loop     while r3 < 9: r0 += 4, r1 += 16, r3 += 1; then rewind them
//
// A register is an induction variable, affine in the iterators: the address of
// a cell of a buffer, the address of a slot, or a plain number. It is strength-
// reduced: loops add constants, so that an access costs no multiplication. An
// innermost loop around one instruction becomes the count of the instruction, a
// vector instruction as it were. Slots hold locals, constants and temporaries.
#ifndef OCANNL_INTERP_BYTECODE_H_
#define OCANNL_INTERP_BYTECODE_H_

#include <cstdint>
#include <vector>

#include "ocannl/core/index/affine.h"

namespace ocannl::interp {

struct Loop;
struct Instruction;

// Executes `at` and returns the instruction to execute next, null at the end.
using Handler = const Instruction* (*)(const Instruction* at,
                                       uint64_t* registers, const Loop* loops);

struct Instruction {
  Handler handler;
  int32_t target = 0;    // a register; of end_loop, the number of the loop
  int32_t args[3] = {};  // registers
  // How many times in a row, and what the addresses gain from one time to the
  // next; 0 times for what is no computation.
  uint64_t count = 0;
  uint64_t target_stride = 0;
  uint64_t strides[3] = {};
};

struct RegisterIncrement {
  int32_t reg;
  uint64_t amount;  // from one iteration to the next
};

struct Loop {
  int32_t counter;  // the register that holds the iterator
  uint64_t last;    // its value in the last iteration
  int64_t jump;     // from the end of the loop to its first instruction
  std::vector<RegisterIncrement> increments;
};

// What the address in a register counts from; otherwise, a buffer's number.
enum Base : int32_t { kNumber = -1, kSlots = -2, kRegisters = -3 };

struct Register {
  int32_t base;
  Affine value;  // in bytes, unless the base is kNumber
};

struct Bytecode {
  std::vector<Instruction> instructions;
  std::vector<Loop> loops;
  std::vector<Register> registers;
  std::vector<uint64_t> slots;  // values at the start of a run
};

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_BYTECODE_H_
