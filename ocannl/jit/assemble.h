// SPDX-License-Identifier: Apache-2.0
//
// Assemble: LoopProgram -> machine code, as bytes or as text.
#ifndef OCANNL_JIT_ASSEMBLE_H_
#define OCANNL_JIT_ASSEMBLE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/jit/machine_code.h"
#include "ocannl/jit/vcode/isa.h"

namespace ocannl::jit {

// The code of a program that Verify accepts, as it stands: scheduling comes
// before. `with_debug_info`: with its lines and buffers. The passes over VCode
// of the names in `skip` are left out. Error: a bug of ours.
absl::StatusOr<CodeImage> Assemble(LoopProgram program, Isa isa,
                                   bool with_debug_info = false,
                                   absl::Span<const std::string> skip = {});

// The same code as text, with the .ll lines that it comes from, the pointers
// and the loops as comments. This machine need not have `isa`.
absl::StatusOr<std::string> Listing(LoopProgram program, Isa isa,
                                    absl::Span<const std::string> skip = {});

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_ASSEMBLE_H_
