// SPDX-License-Identifier: Apache-2.0
//
// GuardedMemory: memory between pages that nobody may touch (Perens, "Electric
// Fence", 1987).
#ifndef OCANNL_EMULATION_GUARDED_MEMORY_H_
#define OCANNL_EMULATION_GUARDED_MEMORY_H_

#include <sys/mman.h>

#include <cstddef>

#include "ocannl/core/base/check.h"
#include "ocannl/core/runtime/device_memory.h"

namespace ocannl::emulation {

// Memory that ends at a page that nobody may touch, up to the alignment that
// the engine relies on, and has another such page before it.
struct GuardedMemory {
  explicit GuardedMemory(size_t wanted)
      : bytes((wanted + kAlignment - 1) / kAlignment * kAlignment),
        pages((bytes + kPage - 1) / kPage * kPage) {}

  char* Map() const {
    void* all = mmap(nullptr, pages + 2 * kPage, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return nullptr;
    char* const first = static_cast<char*>(all) + kPage;
    CHECK_EQ(mprotect(first, pages, PROT_READ | PROT_WRITE), 0);
    return first + pages - bytes;
  }
  void Unmap(char* address) const {
    CHECK_EQ(munmap(address + bytes - pages - kPage, pages + 2 * kPage), 0);
  }

  static constexpr size_t kAlignment = DeviceMemory::kAlignment;
  static constexpr size_t kPage = 4096;
  size_t bytes, pages;
};

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_GUARDED_MEMORY_H_
