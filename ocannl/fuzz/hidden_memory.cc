// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/hidden_memory.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "ocannl/core/base/status_macros.h"

namespace ocannl::fuzz {
namespace {

// An address of the host with bit 62 turned is in no page table: it is not
// canonical (Intel SDM 1, 3.3.7.1). Offsets from it stay offsets.
std::byte* Turn(const std::byte* address) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(address) ^
                                      uintptr_t{1} << 62);
}

class HiddenMemory : public MemorySpace {
 public:
  absl::string_view name() const override { return "hidden"; }

  absl::StatusOr<std::byte*> Allocate(size_t bytes) const override {
    OCANNL_ASSIGN_OR_RETURN(std::byte * address, HostMemory().Allocate(bytes));
    return Turn(address);
  }
  void Free(std::byte* address) const override {
    HostMemory().Free(Turn(address));
  }

  absl::Status Copy(const std::byte* from, size_t bytes, std::byte* to,
                    CopyKind kind) const override {
    return HostMemory().Copy(kind == CopyKind::kIn ? from : Turn(from), bytes,
                             kind == CopyKind::kOut ? to : Turn(to), kind);
  }
};

class HiddenExecutable : public Executable {
 public:
  explicit HiddenExecutable(std::unique_ptr<Executable> interp)
      : interp_(std::move(interp)) {}

  bool HasScratch() const override { return interp_->HasScratch(); }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    std::vector<std::byte*> addresses;
    for (const std::byte* buffer : buffers) {
      addresses.push_back(buffer == nullptr ? nullptr : Turn(buffer));
    }
    interp_->Run(addresses, statics);
  }

 private:
  std::unique_ptr<Executable> interp_;
};

}  // namespace

const MemorySpace& HiddenMemoryBackend::memory() const {
  static const HiddenMemory memory;
  return memory;
}

absl::StatusOr<std::unique_ptr<Executable>> HiddenMemoryBackend::Compile(
    const LoopProgram& program) const {
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> executable,
                          interp_.Compile(program));
  return std::make_unique<HiddenExecutable>(std::move(executable));
}

}  // namespace ocannl::fuzz
