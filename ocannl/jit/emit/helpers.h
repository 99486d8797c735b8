// SPDX-License-Identifier: Apache-2.0
//
// Runtime helpers: scalar C++ that generated code calls for primitives that an
// instruction set lacks, such as quotients of 64-bit integers.
#ifndef OCANNL_JIT_EMIT_HELPERS_H_
#define OCANNL_JIT_EMIT_HELPERS_H_

#include <cstddef>
#include <cstdint>

#include "ocannl/core/base/dtype.h"
#include "ocannl/core/ops/op.h"

namespace ocannl::jit {

// Bytes from one operand to the next in the area; the result is the fourth.
inline constexpr int kHelperOperandBytes = 64;

// The number of a helper, the same in every process of a build. `operand` is
// the type of the last operand.
uint32_t HelperNumber(Op op, DType result, DType operand);

// Computes `lanes` numbers. A lane has 8 bytes where its type has, else 4; a
// bool is 0 or not.
void RunHelper(std::byte* area, int lanes, uint32_t number);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_EMIT_HELPERS_H_
