// SPDX-License-Identifier: Apache-2.0
//
// Names of machine code for debuggers and profilers. The environment variable
// OCANNL_JIT_SYMBOLS turns them on; without it they cost nothing:
//
//   OCANNL_JIT_SYMBOLS=perf       /tmp/perf-PID.map, which `perf report` reads
//   OCANNL_JIT_SYMBOLS=gdb        GDB knows them, and lines, stack and buffers
//   OCANNL_JIT_SYMBOLS=perf,gdb   both
#ifndef OCANNL_JIT_DEBUG_DEBUG_SYMBOLS_H_
#define OCANNL_JIT_DEBUG_DEBUG_SYMBOLS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/system/scratch_directory.h"

namespace ocannl::jit {

// A function in memory.
struct DebugSymbol {
  std::string name;  // "program:nest-2"
  const std::byte* begin;
  size_t size;
};

// A section of the object file that GDB reads.
struct DebugSection {
  std::string name;  // ".debug_line"
  std::string bytes;
};

// What debug_info.h makes: sections, and where the file is that they name.
struct DebugTables {
  std::vector<DebugSection> sections = {};
  std::unique_ptr<ScratchDirectory> source = nullptr;
};

// Tells debuggers about functions while it lives.
class DebugSymbols {
 public:
  // None.
  DebugSymbols() = default;
  // `wanted` is what the environment variable holds. The symbols ascend.
  DebugSymbols(absl::Span<const DebugSymbol> symbols, absl::string_view wanted,
               DebugTables tables = {});

 private:
  struct Registered;
  struct Unregister {
    void operator()(Registered* registered) const;
  };

  std::unique_ptr<Registered, Unregister> registered_;
};

// Error: `wanted` is none of the above; `origin` is where it was set.
absl::Status CheckDebugSymbols(absl::string_view origin,
                               absl::string_view wanted);

// The lines of a perf map: begin and size in hexadecimal digits, the name.
std::string PerfMapText(absl::Span<const DebugSymbol> symbols);

// The symbols and sections as an object file of the ELF format, as GDB's
// interface for compilers in memory takes it.
std::string ElfObject(absl::Span<const DebugSymbol> symbols,
                      absl::Span<const DebugSection> sections = {});

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_DEBUG_DEBUG_SYMBOLS_H_
