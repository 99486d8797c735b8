// SPDX-License-Identifier: Apache-2.0
//
// TracedBackend: another backend whose compilations and runs are spans of the
// trace of the process (core/base/system/trace_events.h). It is a decorator
// (Gamma et al., "Design Patterns", 1994), so that runs without a trace cost
// nothing.
//
//   TracedBackend traced(&x86);
//   Device device("host", &traced);
#ifndef OCANNL_CORE_TIERING_TRACED_BACKEND_H_
#define OCANNL_CORE_TIERING_TRACED_BACKEND_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

// Spans have the name of the program, and the categories run, or compile, and
// the name of the tier. Where a run only begins kernels, that is what is timed.
class TracedBackend : public Backend {
 public:
  // `backend` must outlive it, and it its executables.
  explicit TracedBackend(const Backend* backend)
      : backend_(*backend),
        compile_(absl::StrCat("compile,", backend->name())),
        run_(absl::StrCat("run,", backend->name())) {}

  absl::string_view name() const override { return backend_.name(); }
  const MemorySpace& memory() const override { return backend_.memory(); }
  std::shared_ptr<DeviceQueue> MakeQueue() const override {
    return backend_.MakeQueue();
  }
  const DeviceNetwork* network() const override { return backend_.network(); }

  // Errors: those of the backend.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;
  absl::StatusOr<std::unique_ptr<Executable>> CompileHot(
      const LoopProgram& program) const override;

  absl::Status RunStatus() const override { return backend_.RunStatus(); }
  std::string Report() const override { return backend_.Report(); }

 private:
  const Backend& backend_;
  const std::string compile_, run_;  // categories
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_TRACED_BACKEND_H_
