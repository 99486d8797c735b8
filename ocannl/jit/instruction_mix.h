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

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ocannl::jit {

// The instructions of a nest, or of a loop in it, without those of the loops
// inside.
struct LoopMix {
  std::string title;  // "nest-0", "for i3 = 0 to 31"
  int depth = 0;      // loops around it, and the nest
  int64_t runs = 1;   // of its body when the program runs once
  int instructions = 0;
  int of_memory = 0;  // that have an operand there
  int stores = 0;     // of these, that write it
  int of_stack = 0;   // spills, reloads and the frame's arguments
  std::map<std::string, int> by_mnemonic = {};
};

// The nests and loops of a listing (Listing, assemble.h), outer before inner.
std::vector<LoopMix> LoopMixes(absl::string_view listing);

// The same as text.
std::string InstructionMix(absl::string_view listing);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_INSTRUCTION_MIX_H_
