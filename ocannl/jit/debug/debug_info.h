// SPDX-License-Identifier: Apache-2.0
//
// DebugInfo: the information that a debugger needs of a program's machine code
// beyond names. It has the line of its text for each instruction, how to unwind
// the stack, and the places of the buffers. DWARF has it as sections of an
// object file.
//
// libdwarf writes them (Debian: libdwarf1). Programs open the library when it
// is needed first: linked with it, each would take 0.8 ms longer to start, and
// would have to come with it.
#ifndef OCANNL_JIT_DEBUG_DEBUG_INFO_H_
#define OCANNL_JIT_DEBUG_DEBUG_INFO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/debug/debug_symbols.h"
#include "ocannl/jit/debug/debug_rows.h"

namespace ocannl::jit {

struct DebugInfo {
  std::string file_name;  // "step-schedule.ll"
  std::string text;       // of the program: what its lines are
  DebugRows rows;
  std::vector<int64_t> ends;    // of the functions, in the code, and the stub
  std::optional<int64_t> stub;  // where that of helper calls begins; none: none
  // Those whose addresses the code reads, and where in its argument.
  std::vector<std::pair<int32_t, Buffer>> buffers;
};

// The sections .debug_* for code whose functions are `symbols`, and the text in
// a file of its own while they live. Errors: no libdwarf, no such file.
absl::StatusOr<DebugTables> MakeDebugTables(
    const DebugInfo& info, absl::Span<const DebugSymbol> symbols);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_DEBUG_DEBUG_INFO_H_
