// SPDX-License-Identifier: Apache-2.0
//
// HiddenMemoryBackend: the interpreter as a device whose memory the host cannot
// address: who follows an address of it is stopped by the processor. What works
// on it leaves all copies to the device.
//
//   HiddenMemoryBackend backend;
//   Device device("hidden", &backend);
#ifndef OCANNL_FUZZ_HIDDEN_MEMORY_H_
#define OCANNL_FUZZ_HIDDEN_MEMORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/interp/interp_backend.h"

namespace ocannl::fuzz {

class HiddenMemoryBackend : public Backend {
 public:
  absl::string_view name() const override { return "hidden-memory"; }
  const MemorySpace& memory() const override;

  // Errors: those of the interpreter.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

 private:
  interp::InterpBackend interp_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_HIDDEN_MEMORY_H_
