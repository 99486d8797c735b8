// SPDX-License-Identifier: Apache-2.0
//
// Assemble: LoopProgram -> machine code in memory, or as text.
#ifndef OCANNL_JIT_ASSEMBLE_H_
#define OCANNL_JIT_ASSEMBLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/code_memory.h"
#include "ocannl/jit/debug_symbols.h"
#include "ocannl/jit/emit/emitter.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// Statements of the program's body that one function runs.
struct Section {
  NestFunction function;
  int64_t iterations;  // of a parallel loop; 0: none, the bounds do not matter
};

struct MachineCode {
  CodeMemory memory;
  std::vector<Section> sections;  // in order
  std::vector<int32_t> buffers;   // those whose addresses it reads, ascending
  DebugSymbols symbols;           // if the environment asks for them
};

// The code of a program that Verify accepts, as it stands: scheduling comes
// before. Error: no memory.
absl::StatusOr<MachineCode> Assemble(LoopProgram program, Isa isa);

// The same code as text, with the .ll lines that it comes from, the pointers
// and the loops as comments. This machine need not have `isa`.
std::string Listing(LoopProgram program, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_ASSEMBLE_H_
