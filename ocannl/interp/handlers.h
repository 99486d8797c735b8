// SPDX-License-Identifier: Apache-2.0
//
// What each instruction does. One handler per primitive and type, made of the
// rows of ops.def and their definitions in number.h.
//
//   FindHandler(Op::kFma, f32, f32)   ->   *target = fma(*arg0, *arg1, *arg2)
#ifndef OCANNL_INTERP_HANDLERS_H_
#define OCANNL_INTERP_HANDLERS_H_

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/interp/bytecode.h"

namespace ocannl::interp {

// target = op(args...) for a primitive, `count` times in a row; `operand` is
// the type of its last operand. Converting a type to itself copies.
Handler FindHandler(Op op, DType result, DType operand);

// A gather: target = the cell of type `cell` at the second argument + stride *
// the index of type `index` at the first one, or 0 where that is out of bounds.
// The third argument is the address of two numbers: the bound of the index and
// the stride in bytes. `count` times in a row.
Handler FindLookup(DType cell, DType index);

// A scatter: that cell, from the target on, = the value at the second argument,
// unless the index is out of bounds.
Handler FindScatter(DType cell, DType index);

// The slots of a generator: its key, one word each, then those in which
// FindDraw's handler keeps the last block, which are 0 at first.
inline constexpr int kKeySlots = 4;
inline constexpr int kDrawSlots = kKeySlots + 5;

// target = the word that the third argument says of the block with the counter
// in the second one, drawn with the generator whose slots are at the first one;
// `count` times in a row. Equal counters in a row cost one block.
Handler FindDraw(Op op);

// Zeroes as many bytes from the target as the number in the first argument.
const Instruction* ZeroOutHandler(const Instruction* at, uint64_t* registers,
                                  const Loop* loops);

// The back edge of the loop with the number in `target`, or its exit, which
// resets the loop's registers.
const Instruction* EndLoopHandler(const Instruction* at, uint64_t* registers,
                                  const Loop* loops);

const Instruction* StopHandler(const Instruction* at, uint64_t* registers,
                               const Loop* loops);

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_HANDLERS_H_
