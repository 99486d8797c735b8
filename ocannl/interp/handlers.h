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
#include "ocannl/interp/code.h"

namespace ocannl::interp {

// target = op(args...) for a primitive, `count` times in a row; `operand` is
// the type of its last operand. Converting a type to itself copies.
Handler FindHandler(Op op, DType result, DType operand);

// target = the cell of type `cell` at the second argument, moved by the number
// of type `index` at the first one, or 0. The third argument is the address of
// two numbers: how many indices there are, and the bytes between them. `count`
// times in a row.
Handler FindLookup(DType cell, DType index);

// The other way round: that cell = the value at the second argument, if the
// table has the row; the cell is the target.
Handler FindScatter(DType cell, DType index);

// Zeroes as many bytes from the target as the number in the first argument.
const Instruction* ZeroOutHandler(const Instruction* at, uint64_t* registers,
                                  const Loop* loops);

// Goes on with the next iteration of the loop with the number in `target`, or
// leaves it with its registers as they were before.
const Instruction* EndLoopHandler(const Instruction* at, uint64_t* registers,
                                  const Loop* loops);

const Instruction* StopHandler(const Instruction* at, uint64_t* registers,
                               const Loop* loops);

}  // namespace ocannl::interp

#endif  // OCANNL_INTERP_HANDLERS_H_
