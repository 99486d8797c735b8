// SPDX-License-Identifier: Apache-2.0
//
// Verify: what every pass over VCode may rely on and has to keep.
#ifndef OCANNL_JIT_VCODE_VERIFY_H_
#define OCANNL_JIT_VCODE_VERIFY_H_

#include "absl/status/status.h"
#include "ocannl/jit/vcode/vcode.h"

namespace ocannl::jit {

// Checks that registers, constants, pointers, loops, lookups and source lines
// exist, and that loops nest, each once. Each register is defined before it is
// used, and only once unless it is mutable. An instruction has the operands of
// its opcode and as many lanes as its result; operands are memory or constants
// only if they can be. Error: the first instruction that breaks a rule, by its
// number.
absl::Status Verify(const Nest& nest);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_VCODE_VERIFY_H_
