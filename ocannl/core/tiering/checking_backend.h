// SPDX-License-Identifier: Apache-2.0
//
// CheckingBackend: every run on two tiers, which must leave the same bits.
//
//   CheckingBackend backend(/*reference=*/&interp, /*checked=*/&x86);
//   Device device("host", &backend);
//
// Differential testing: a tier that differs is a bug of the engine. The run
// ends the process and names the routine, the buffer, the index and both
// values.
#ifndef OCANNL_CORE_TIERING_CHECKING_BACKEND_H_
#define OCANNL_CORE_TIERING_CHECKING_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

class CheckingBackend : public Backend {
 public:
  // Both must outlive it; the reference works in memory of the host.
  CheckingBackend(const Backend* reference, const Backend* checked)
      : reference_(*reference), checked_(*checked) {}

  // Of the checked tier, as is what a run leaves.
  absl::string_view name() const override { return checked_.name(); }

  const MemorySpace& memory() const override { return checked_.memory(); }
  std::shared_ptr<DeviceQueue> MakeQueue() const override {
    return checked_.MakeQueue();
  }
  const DeviceNetwork* network() const override { return checked_.network(); }

  // Errors: those of either tier.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;
  absl::StatusOr<std::unique_ptr<Executable>> CompileHot(
      const LoopProgram& program) const override;

  // Of the checked tier. Runs after an error are not compared.
  absl::Status RunStatus() const override;

  // Of the checked tier, and how many runs were compared.
  std::string Report() const override;

 private:
  class CheckingExecutable;

  absl::StatusOr<std::unique_ptr<Executable>> Checked(
      const LoopProgram& program,
      absl::StatusOr<std::unique_ptr<Executable>> checked) const;

  const Backend& reference_;
  const Backend& checked_;
  mutable std::atomic<int64_t> runs_ = 0;
  mutable std::mutex mutex_;
  mutable absl::Status status_;  // of copies for the reference
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_CHECKING_BACKEND_H_
