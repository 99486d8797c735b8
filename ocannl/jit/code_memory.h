// SPDX-License-Identifier: Apache-2.0
//
// CodeMemory: memory that holds machine code, writable or executable, never
// both (W^X).
#ifndef OCANNL_JIT_CODE_MEMORY_H_
#define OCANNL_JIT_CODE_MEMORY_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl::jit {

class CodeMemory {
 public:
  // A copy of the code, executable. Error: no memory.
  static absl::StatusOr<CodeMemory> Install(absl::string_view code);

  CodeMemory(CodeMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  CodeMemory& operator=(CodeMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~CodeMemory();

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  CodeMemory(std::byte* data, size_t size) : data_(data), size_(size) {}

  std::byte* data_;
  size_t size_;
};

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_CODE_MEMORY_H_
