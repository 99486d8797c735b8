// SPDX-License-Identifier: Apache-2.0
//
// Backend: turns a LoopProgram into something that runs: LoopProgram ->
// Executable. One implementation per tier: interp/, jit/, cuda/.
#ifndef OCANNL_CORE_RUNTIME_BACKEND_H_
#define OCANNL_CORE_RUNTIME_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

// Compiled code of one program, independent of any buffer. Immutable: any
// number of threads may run it at once on different buffers.
class Executable {
 public:
  virtual ~Executable() = default;

  // Whether it has memory of its own for temps and private buffers: what
  // buffers[k] is for those does not matter then.
  virtual bool HasScratch() const { return false; }

  // Runs once. buffers[k] holds the cells of program.buffers[k], row-major;
  // statics[k] is the value of program.statics[k], inside its range.
  virtual void Run(absl::Span<std::byte* const> buffers,
                   absl::Span<const int64_t> statics) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual absl::string_view name() const = 0;  // "interp"

  // Error: the program asks for what this tier cannot do, named.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const = 0;

  // What it did so far, for people; empty: there is nothing to tell.
  virtual std::string Report() const { return ""; }
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_BACKEND_H_
