// SPDX-License-Identifier: Apache-2.0
//
// Assemble: LoopProgram -> machine code, as bytes or as text.
#ifndef OCANNL_JIT_ASSEMBLE_H_
#define OCANNL_JIT_ASSEMBLE_H_

#include <string>

#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/machine_code.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// The code of a program that Verify accepts, as it stands: scheduling comes
// before. `with_debug_info`: with its lines and buffers. `vcode_passes`: how
// many passes over VCode run; -1: all.
CodeImage Assemble(LoopProgram program, Isa isa, bool with_debug_info = false,
                   int vcode_passes = -1);

// The same code as text, with the .ll lines that it comes from, the pointers
// and the loops as comments. This machine need not have `isa`.
std::string Listing(LoopProgram program, Isa isa);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_ASSEMBLE_H_
