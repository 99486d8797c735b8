// SPDX-License-Identifier: Apache-2.0
//
// SharedMemory: a value that a child process (child.h) writes and its parent
// reads, also after the child died.
#ifndef OCANNL_FUZZ_SHARED_MEMORY_H_
#define OCANNL_FUZZ_SHARED_MEMORY_H_

#include <sys/mman.h>

#include <new>
#include <type_traits>

#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {

template <class T>
class SharedMemory {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  SharedMemory() {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    value_ = new (memory) T();
  }
  SharedMemory(const SharedMemory&) = delete;
  ~SharedMemory() { munmap(value_, sizeof(T)); }

  T* operator->() { return value_; }
  T& operator*() { return *value_; }

 private:
  T* value_;
};

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_SHARED_MEMORY_H_
