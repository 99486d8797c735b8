// SPDX-License-Identifier: Apache-2.0
//
// Machine code of a program: CodeImage, which is the same in every process, and
// MachineCode, the image in executable memory.
#ifndef OCANNL_JIT_MACHINE_CODE_H_
#define OCANNL_JIT_MACHINE_CODE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/jit/code_memory.h"
#include "ocannl/jit/debug/debug_info.h"
#include "ocannl/jit/debug/debug_symbols.h"
#include "ocannl/jit/emit/emitter.h"

namespace ocannl::jit {

struct CodeImage {
  // Statements of the program's body that one function runs.
  struct Section {
    int64_t begin;       // in `bytes`
    int64_t iterations;  // of a parallel loop; 0: none, the bounds are ignored
    int64_t nest;        // the first that it runs, its number in SplitNests
  };

  std::string bytes;
  std::vector<Section> sections = {};  // in order
  std::vector<BufferId> buffers =
      {};                   // those whose addresses it reads, ascending
  int64_t run_helper = -1;  // where that address goes; -1: nowhere
  std::shared_ptr<const DebugInfo> debug = nullptr;  // null: only names
};

struct MachineCode {
  struct Section {
    NestFunction function;
    int64_t iterations;
    int64_t nest;
  };

  CodeMemory memory;
  std::vector<Section> sections;
  DebugSymbols symbols;  // if the environment asks for them
};

// The image, executable. `name` is that of the program, for debuggers. Error:
// no memory.
absl::StatusOr<MachineCode> Load(const CodeImage& image,
                                 absl::string_view name);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_MACHINE_CODE_H_
