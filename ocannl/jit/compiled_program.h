// SPDX-License-Identifier: Apache-2.0
//
// CompiledProgram: the machine code of a program and where its buffers are, as
// the bytes that a CodeCache keeps.
#ifndef OCANNL_JIT_COMPILED_PROGRAM_H_
#define OCANNL_JIT_COMPILED_PROGRAM_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "ocannl/jit/machine_code.h"
#include "ocannl/jit/memory_plan.h"

namespace ocannl::jit {

struct CompiledProgram {
  CodeImage image;
  MemoryPlan plan;
};

std::string ToBytes(const CompiledProgram& compiled);
// nullopt: ToBytes does not write that.
std::optional<CompiledProgram> FromBytes(absl::string_view bytes);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_COMPILED_PROGRAM_H_
