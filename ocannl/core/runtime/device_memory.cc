// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/runtime/device.h"

namespace ocannl {
namespace {

constexpr size_t kHugeFrom = size_t{1} << 20;
constexpr size_t kHugePage = size_t{1} << 21;

class Host : public MemorySpace {
 public:
  absl::string_view name() const override { return "host"; }
  bool is_host() const override { return true; }

  absl::StatusOr<std::byte*> Allocate(size_t bytes) const override {
    size_t alignment = bytes < kHugeFrom ? DeviceMemory::kAlignment : kHugePage;
    // Whole units, at least one: an empty array has an address too.
    size_t units = std::max<size_t>(
        1, bytes / alignment + (bytes % alignment != 0 ? 1 : 0));
    void* data = units > SIZE_MAX / alignment
                     ? nullptr
                     : std::aligned_alloc(alignment, units * alignment);
    if (data == nullptr) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no memory for ", bytes, " bytes; use smaller arrays or batches"));
    }
    if (alignment == kHugePage) {
      // Only advice: without huge pages, ordinary ones serve.
      (void)madvise(data, units * alignment, MADV_HUGEPAGE);
    }
    std::memset(data, 0, units * alignment);
    return static_cast<std::byte*>(data);
  }

  void Free(std::byte* address) const override { std::free(address); }

  absl::Status Copy(const std::byte* from, size_t bytes, std::byte* to,
                    CopyKind) const override {
    if (bytes > 0) std::memmove(to, from, bytes);
    return absl::OkStatus();
  }
};

}  // namespace

const MemorySpace& HostMemory() {
  static const Host host;
  return host;
}

absl::StatusOr<DeviceMemory> DeviceMemory::Allocate(size_t bytes,
                                                    const MemorySpace& space) {
  OCANNL_ASSIGN_OR_RETURN(std::byte * address, space.Allocate(bytes));
  DeviceMemory memory;
  memory.address_ = {address, Free{&space}};
  memory.size_ = bytes;
  return memory;
}

absl::Status DeviceMemory::CopyIn(const std::byte* from) const {
  const TraceSpan span("copy", "from the host", "bytes", size_);
  return space().Copy(from, size_, address(), CopyKind::kIn);
}

absl::Status DeviceMemory::CopyOut(std::byte* to) const {
  const TraceSpan span("copy", "to the host", "bytes", size_);
  return space().Copy(address(), size_, to, CopyKind::kOut);
}

absl::Status DeviceMemory::CopyFrom(const DeviceMemory& from) const {
  CHECK(from.size_ == size_);
  if (&from.space() == &space()) {
    const TraceSpan span("copy", "within the device", "bytes", size_);
    return space().Copy(from.address(), size_, address(), CopyKind::kWithin);
  }
  if (from.space().is_host()) return CopyIn(from.address());
  if (space().is_host()) return from.CopyOut(address());
  OCANNL_ASSIGN_OR_RETURN(DeviceMemory between, Allocate(size_));
  OCANNL_RETURN_IF_ERROR(from.CopyOut(between.address()));
  return CopyIn(between.address());
}

Device::Device(std::string name, const Backend* backend)
    : name_(std::move(name)), backend_(backend) {
  CHECK(backend != nullptr)
      << "the backend of device `" << name_
      << "` is null; give one, such as that of FindTier(\"auto\")";
}

}  // namespace ocannl
