// SPDX-License-Identifier: Apache-2.0
//
// TieredBackend: tiered compilation: programs start on one tier, and hot ones,
// which run often or long, are compiled for another. With a GPU, they move
// there together with their arrays where it pays, and back (migration_cost.h).
//
//   TieredBackend backend({.first = &interp, .second = &x86}, {});
//   Device device("host", &backend);
//   ...
//   std::cerr << backend.Report();
//
// Programs that differ in names only share their code, and their promotion.
#ifndef OCANNL_CORE_TIERING_TIERED_BACKEND_H_
#define OCANNL_CORE_TIERING_TIERED_BACKEND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/containers/lru_cache.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/tiering/background_thread.h"
#include "ocannl/core/tiering/tiered_code.h"

namespace ocannl {

struct TieredOptions {
  bool report = false;      // keep what Report tells; costs time in each run
  bool background = true;   // compile in another thread what takes long
  size_t cache_size = 256;  // programs whose code is kept for others
};

// Thread-safe. Must outlive its executables.
class TieredBackend : public Backend {
 public:
  // The two tiers must outlive it, and have their buffers in memory of the
  // host.
  TieredBackend(Tiering tiering, const TieredOptions& options);

  absl::string_view name() const override { return "auto"; }

  const MemorySpace& memory() const override {
    if (tiering_.gpu != nullptr) return tiering_.gpu->memory();
    return tiering_.first->memory();
  }
  std::shared_ptr<DeviceQueue> MakeQueue() const override {
    return tiering_.first->MakeQueue();
  }
  const DeviceNetwork* network() const override {
    return tiering_.first->network();
  }

  // Errors: those of the first tier. What the second one cannot compile stays
  // on the first.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

  // Compiles with the second tier at once, where that one can.
  absl::StatusOr<std::unique_ptr<Executable>> CompileHot(
      const LoopProgram& program) const override;

  std::string Report() const override;

 private:
  struct Record;
  class TieredExecutable;
  class MigratingExecutable;

  // The code of `program` from the cache, or new; how it was got goes to
  // `origin`.
  absl::StatusOr<std::shared_ptr<TieredCode>> CodeOf(const LoopProgram& program,
                                                     std::string* origin) const;
  std::unique_ptr<Executable> ExecutableOf(const LoopProgram& program,
                                           std::shared_ptr<TieredCode> code,
                                           std::string origin) const;

  const Tiering tiering_;
  const TieredOptions options_;
  mutable std::mutex mutex_;  // guards the rest
  mutable LruCache<std::shared_ptr<TieredCode>> cache_;
  mutable int64_t hits_ = 0;
  mutable int64_t misses_ = 0;
  mutable std::vector<std::shared_ptr<Record>> records_;
  mutable BackgroundThread thread_;  // ends first
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_TIERED_BACKEND_H_
