// SPDX-License-Identifier: Apache-2.0
//
// Backend: turns a LoopProgram into something that runs: LoopProgram ->
// Executable. One implementation per tier: interp/, jit/.
#ifndef OCANNL_CORE_RUNTIME_BACKEND_H_
#define OCANNL_CORE_RUNTIME_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/ir.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/device_network.h"
#include "ocannl/core/runtime/device_queue.h"

namespace ocannl {

// Compiled code of one program, independent of any buffer. Immutable: any
// number of threads may run it at once on different buffers.
class Executable {
 public:
  virtual ~Executable() = default;

  // Whether it has memory of its own for temps and private buffers: what
  // buffers[k] is for those does not matter then.
  virtual bool HasScratch() const { return false; }

  // Runs once. buffers[k] is where the backend's memory has the cells of
  // program.buffers[k], row-major; statics[k] is the value of
  // program.statics[k], inside its range.
  virtual void Run(absl::Span<std::byte* const> buffers,
                   absl::Span<const int64_t> statics) const = 0;

  // Runs `count` times. After each run statics[k] grows by steps[k]; its values
  // up to the last run must be inside its range.
  virtual void Repeat(absl::Span<std::byte* const> buffers,
                      absl::Span<int64_t> statics,
                      absl::Span<const int64_t> steps, int64_t count) const {
    for (int64_t run = 0; run < count; ++run) {
      Run(buffers, statics);
      for (size_t k = 0; k < statics.size(); ++k) statics[k] += steps[k];
    }
  }
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual absl::string_view name() const = 0;  // "interp"

  // Where the buffers of what it compiles are.
  virtual const MemorySpace& memory() const { return HostMemory(); }

  // A new one of the device; null: it has none, or no more. The backend must
  // outlive it.
  virtual std::shared_ptr<DeviceQueue> MakeQueue() const { return nullptr; }

  // Of its memory with that of other processes; null: there is none.
  virtual const DeviceNetwork* network() const { return nullptr; }

  // VerifyPromises (core/analysis/promises.h) accepts the program. Error: it
  // asks for what this tier cannot do, named.
  virtual absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const = 0;

  // As Compile, of a program that is known to run often.
  virtual absl::StatusOr<std::unique_ptr<Executable>> CompileHot(
      const LoopProgram& program) const {
    return Compile(program);
  }

  // The first error of a run of what it compiled, or of a queue; what any run
  // since then left means nothing. Runs may be deferred, so that it is not for
  // them to return it: who reads what they left asks (context.h). Most tiers
  // have no such errors.
  virtual absl::Status RunStatus() const { return absl::OkStatus(); }

  // What it did so far, for people; empty: there is nothing to tell.
  virtual std::string Report() const { return ""; }
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_BACKEND_H_
