// SPDX-License-Identifier: Apache-2.0
//
// The instruction mix of machine code (static counts by mnemonic, as LLVM's
// remark of that name): what a loop costs, whichever registers it has.
//
//   nest-0: 5 instructions, 3 of memory, 0 of the stack
//     3 mov, 1 ret, 1 vzeroupper
//     for i3 = 0 to 31: 6 instructions, 3 of memory, 0 of the stack
//       2 vmovups, 1 dec, 1 jnz, 1 lea, 1 vmulps
#ifndef OCANNL_JIT_INSTRUCTION_MIX_H_
#define OCANNL_JIT_INSTRUCTION_MIX_H_

#include <string>

#include "absl/strings/string_view.h"

namespace ocannl::jit {

// The counts of each nest and loop of a listing (Listing, assemble.h). An
// instruction counts for the innermost loop that it is in; one of memory has an
// operand there; of the stack are spills, reloads and the frame's arguments.
std::string InstructionMix(absl::string_view listing);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_INSTRUCTION_MIX_H_
