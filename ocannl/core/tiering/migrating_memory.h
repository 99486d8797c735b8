// SPDX-License-Identifier: Apache-2.0
//
// MigratingMemory: memory whose arrays are on the host, or on a GPU, wherever
// code used them last. An array keeps its address, which is one of the host's;
// on the GPU it has a copy.
//
//   MigratingMemory memory;
//   memory.SetGpu(&cuda);
//   auto copied = memory.RunOnGpu({.gpu_code = ..., .host_code = ..., ...});
//
// The values on a GPU are lost if it fails. So the host keeps the values of the
// last checkpoint and a log of the runs and writes on the GPU since then
// (rollback recovery: Elnozahy et al. 2002). All tiers give the same bits, so
// the host gets the lost values when it repeats the log. A checkpoint copies
// the changed arrays to the host and empties the log.
#ifndef OCANNL_CORE_TIERING_MIGRATING_MEMORY_H_
#define OCANNL_CORE_TIERING_MIGRATING_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl {

// Bytes and the number of copies.
struct Copies {
  size_t bytes = 0;
  int64_t count = 0;

  void Add(const Copies& more) {
    bytes += more.bytes;
    count += more.count;
  }
};

// Thread-safe. It must outlive its arrays. As with any memory, streams order
// the uses of one array.
class MigratingMemory : public MemorySpace {
 public:
  MigratingMemory();
  ~MigratingMemory() override;

  absl::string_view name() const override { return "host and GPU"; }
  absl::StatusOr<std::byte*> Allocate(size_t bytes) const override;
  void Free(std::byte* address) const override;
  absl::Status Copy(const std::byte* from, size_t bytes, std::byte* to,
                    CopyKind kind) const override;

  // Lets arrays be copied to this GPU, which must outlive the memory. Call it
  // once.
  void SetGpu(const Backend* gpu);

  // Repeats code; see Executable::Repeat. Both codes are of a program with
  // these roles.
  struct Runs {
    const Executable* gpu_code;
    std::shared_ptr<const Executable> host_code;
    absl::Span<const loop_ir::Role> roles;
    absl::Span<std::byte* const> buffers;
    absl::Span<int64_t> statics;
    absl::Span<const int64_t> steps;
    int64_t count;
    double gpu_seconds;       // of all runs, there
    double seconds_per_byte;  // of copies
  };
  // Runs on the GPU. Returns the copies to the GPU that the runs needed.
  // Errors, with nothing changed: the GPU has too little memory; it failed, and
  // is not used any more.
  absl::StatusOr<Copies> RunOnGpu(const Runs& runs);

  // Call it before a run on the host: the arrays have their values there
  // afterwards. With `leaves`, the GPU keeps no copies of them. Returns the
  // copies to the host.
  Copies BringToHost(absl::Span<const loop_ir::Role> roles,
                     absl::Span<std::byte* const> buffers, bool leaves);

 private:
  class State;
  const std::unique_ptr<State> state_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_MIGRATING_MEMORY_H_
