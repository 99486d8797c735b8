// SPDX-License-Identifier: Apache-2.0
//
// DeviceMemory: a piece of a memory space, that of the host or of a device.
//
//   OCANNL_ASSIGN_OR_RETURN(auto x, DeviceMemory::Allocate(4096, space));
//   OCANNL_RETURN_IF_ERROR(x.CopyIn(values.data()));
//   ...                        // code of the device that gets x.address()
//   OCANNL_RETURN_IF_ERROR(x.CopyOut(values.data()));
#ifndef OCANNL_CORE_RUNTIME_DEVICE_MEMORY_H_
#define OCANNL_CORE_RUNTIME_DEVICE_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl {

// Which addresses of a copy are the host's.
enum class CopyKind {
  kIn,      // from the host to the device
  kOut,     // from the device to the host
  kWithin,  // neither
};

// An address space. Only code that runs there follows its addresses; the host
// copies. Copies and runs are done in the order of the calls, or if the thread
// has a queue, in that queue (device_queue.h). Errors of all but Allocate: the
// device failed.
class MemorySpace {
 public:
  virtual ~MemorySpace() = default;

  virtual absl::string_view name() const = 0;  // "host"

  // Whether the host may follow addresses, so that it needs no copies.
  virtual bool is_host() const { return false; }

  // Zeroed, at a multiple of DeviceMemory::kAlignment. Error: there is not so
  // much.
  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) const = 0;
  virtual void Free(std::byte* address) const = 0;

  // The pieces may be the same, else do not overlap.
  virtual absl::Status Copy(const std::byte* from, size_t bytes, std::byte* to,
                            CopyKind kind) const = 0;
};

// Huge pages serve what is large enough, where the system has them.
const MemorySpace& HostMemory();

class DeviceMemory {
 public:
  static constexpr size_t kAlignment = 64;  // of x86's cache lines

  // Owns nothing.
  DeviceMemory() = default;

  // Zeroed memory of `space`, which must outlive it. Error: there is not so
  // much.
  static absl::StatusOr<DeviceMemory> Allocate(
      size_t bytes, const MemorySpace& space = HostMemory());

  std::byte* address() const { return address_.get(); }
  size_t size() const { return size_; }

  // Of all its bytes, from and to the host.
  absl::Status CopyIn(const std::byte* from) const;
  absl::Status CopyOut(std::byte* to) const;

  // Of all bytes of `from`, as many as its own, by way of the host where the
  // spaces differ.
  absl::Status CopyFrom(const DeviceMemory& from) const;

 private:
  struct Free {
    const MemorySpace* space;
    void operator()(std::byte* address) const { space->Free(address); }
  };
  const MemorySpace& space() const { return *address_.get_deleter().space; }

  std::unique_ptr<std::byte, Free> address_;
  size_t size_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_DEVICE_MEMORY_H_
