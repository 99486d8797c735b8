// SPDX-License-Identifier: Apache-2.0
//
// Slow ops: primitives that an instruction set has no short code for, such as
// quotients of 64-bit integers, done by C++ lane by lane.
#ifndef OCANNL_JIT_EMIT_SLOW_OPS_H_
#define OCANNL_JIT_EMIT_SLOW_OPS_H_

#include <cstddef>
#include <cstdint>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/op.h"

namespace ocannl::jit {

// Bytes from one operand to the next in the area; the result is the fourth.
inline constexpr int kSlowOperandBytes = 64;

// The number of a slow op, the same in every process of a build. `operand` is
// the type of the last operand.
uint32_t SlowOpNumber(Op op, DType result, DType operand);

// Computes `lanes` numbers. A lane has 8 bytes where its type has, else 4; a
// bool is 0 or not.
void RunSlowOp(std::byte* area, int lanes, uint32_t number);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_EMIT_SLOW_OPS_H_
