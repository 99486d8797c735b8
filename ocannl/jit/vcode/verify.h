// SPDX-License-Identifier: Apache-2.0
//
// Verify: what every pass over VCode may rely on and has to keep.
#ifndef OCANNL_JIT_VCODE_VERIFY_H_
#define OCANNL_JIT_VCODE_VERIFY_H_

#include "absl/status/status.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Registers, constants, pointers, loops, lookups and source lines that there
// are; each register is defined before it is used, and once unless it is
// mutable; an instruction has the operands of its opcode and as many lanes as
// its result; memory stands only where CanBeMemory; loops nest, each once.
// Error: the first instruction that breaks one of these, by its number.
absl::Status Verify(const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_VERIFY_H_
