// SPDX-License-Identifier: Apache-2.0
//
// What the environment variable OCANNL_JIT_SYMBOLS asks for: whoever reads
// names and lines of machine code (ocannl/jit/debug/debug_symbols.h).
#ifndef OCANNL_CORE_BASE_WANTED_DEBUG_SYMBOLS_H_
#define OCANNL_CORE_BASE_WANTED_DEBUG_SYMBOLS_H_

#include "absl/strings/string_view.h"

namespace ocannl {

// What the environment variable holds; "" without it.
absl::string_view WantedDebugSymbols();

// Whether `gdb` is among that.
bool WantsGdb();

// Whether somebody reads which assignment and source line each loop comes from:
// GDB, or after AskForOrigins a profile.
bool WantsOrigins();
void AskForOrigins();

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_WANTED_DEBUG_SYMBOLS_H_
