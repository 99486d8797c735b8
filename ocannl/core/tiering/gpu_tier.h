// SPDX-License-Identifier: Apache-2.0
//
// GpuTier: the GPU to which a TieredBackend moves programs. It is opened when a
// program would gain by it, so that a process which needs none waits for none.
//
//   GpuTier gpu([]() -> absl::StatusOr<GpuTier::Opened> {
//     return GpuTier::Opened{.backend = &cuda, .costs = MigrationCosts()};
//   });
#ifndef OCANNL_CORE_TIERING_GPU_TIER_H_
#define OCANNL_CORE_TIERING_GPU_TIER_H_

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/tiering/background_thread.h"
#include "ocannl/core/tiering/migrating_memory.h"
#include "ocannl/core/tiering/migration_cost.h"

namespace ocannl {

// Thread-safe.
class GpuTier {
 public:
  struct Opened {
    const Backend* backend;  // outlives the tier
    MigrationCosts costs;
    std::string note = "";  // for Report: where the costs are from
  };
  // Called once at most.
  using Opener = std::function<absl::StatusOr<Opened>()>;

  // `guess` serves until the GPU is open.
  explicit GpuTier(Opener open, const MigrationCosts& guess = {})
      : open_(std::move(open)), guess_(guess) {}

  MigratingMemory& memory() { return memory_; }

  // Does long work, so that the host does not wait for it.
  BackgroundThread& thread() { return thread_; }

  // Null: it is not open.
  const Opened* opened() const {
    return opened_.load(std::memory_order_acquire);
  }
  const MigrationCosts& costs() const {
    return opened() == nullptr ? guess_ : opened()->costs;
  }

  // Opens it, unless it is open. Error: that of the opener, each time.
  absl::Status Open();

  // The GPU and its costs, or why it is not used, for people.
  std::string Report() const;

 private:
  const Opener open_;
  const MigrationCosts guess_;
  MigratingMemory memory_;
  std::atomic<const Opened*> opened_ = nullptr;
  mutable std::mutex mutex_;  // guards the rest
  absl::StatusOr<Opened> result_ = absl::FailedPreconditionError("");
  bool was_tried_ = false;
  BackgroundThread thread_;  // ends first
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_GPU_TIER_H_
