// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/aligned_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ocannl {
namespace {

constexpr size_t kHugeFrom = size_t{1} << 20;
constexpr size_t kHugePage = size_t{1} << 21;

}  // namespace

absl::StatusOr<AlignedMemory> AlignedMemory::Allocate(size_t bytes) {
  size_t alignment = bytes < kHugeFrom ? kAlignment : kHugePage;
  // Whole units, at least one: an empty array has an address too.
  size_t units =
      std::max<size_t>(1, bytes / alignment + (bytes % alignment != 0 ? 1 : 0));
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
  AlignedMemory memory;
  memory.data_.reset(static_cast<std::byte*>(data));
  memory.size_ = bytes;
  return memory;
}

}  // namespace ocannl
