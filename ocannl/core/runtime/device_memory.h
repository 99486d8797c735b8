// SPDX-License-Identifier: Apache-2.0
//
// AlignedMemory: host memory that starts at a cache line.
//
//   OCANNL_ASSIGN_OR_RETURN(auto memory, AlignedMemory::Allocate(4096));
#ifndef OCANNL_CORE_RUNTIME_ALIGNED_MEMORY_H_
#define OCANNL_CORE_RUNTIME_ALIGNED_MEMORY_H_

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "absl/status/statusor.h"

namespace ocannl {

class AlignedMemory {
 public:
  static constexpr size_t kAlignment = 64;

  // Owns nothing.
  AlignedMemory() = default;

  // Zeroed memory, of huge pages where it is large enough and the system has
  // them. Error: there is not so much.
  static absl::StatusOr<AlignedMemory> Allocate(size_t bytes);

  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };

  std::unique_ptr<std::byte, Free> data_;
  size_t size_ = 0;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_ALIGNED_MEMORY_H_
