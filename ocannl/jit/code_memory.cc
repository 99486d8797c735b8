// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/code_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace ocannl::jit {

absl::StatusOr<CodeMemory> CodeMemory::Install(absl::string_view code) {
  const size_t size = code.size();
  if (size == 0) return CodeMemory(nullptr, 0);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", size, " bytes of machine code"));
  }
  CodeMemory memory(static_cast<std::byte*>(data), size);
  std::memcpy(data, code.data(), size);
  if (mprotect(data, size, PROT_READ | PROT_EXEC) != 0) {
    return absl::ResourceExhaustedError(
        "the system does not let memory become executable");
  }
  return memory;
}

CodeMemory::~CodeMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace ocannl::jit
