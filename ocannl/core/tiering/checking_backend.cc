// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/checking_backend.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/tiering/first_difference.h"

namespace ocannl {
namespace {

NdArray ArrayAt(const Buffer& buffer, const MemorySpace& space,
                const std::byte* cells) {
  NdArray array(buffer.dtype, buffer.dims);
  CHECK_OK(space.Copy(cells, array.bytes(), array.data(), CopyKind::kOut));
  return array;
}

// Buffers on the host for one run of the reference: scratch, and copies of what
// it may write or cannot address.
struct HostArguments {
  HostArguments(const IdVector<BufferId, Buffer>& declared,
                const MemorySpace& space, absl::Span<std::byte* const> given)
      : addresses(given.begin(), given.end()) {
    own.reserve(declared.size());  // they stay where they are
    for (BufferId k : declared.ids()) {
      if (IsReadOnly(declared[k].role) && space.is_host()) continue;
      own.push_back(IsScratch(declared[k].role)
                        ? NdArray(declared[k].dtype, declared[k].dims)
                        : ArrayAt(declared[k], space, addresses[k]));
      addresses[k] = own.back().data();
    }
  }

  IdVector<BufferId, std::byte*> addresses;
  std::vector<NdArray> own;
};

// `given`, and new memory of `space` for the scratch.
struct WithScratch {
  WithScratch(const IdVector<BufferId, Buffer>& declared,
              const MemorySpace& space, absl::Span<std::byte* const> given)
      : addresses(given.begin(), given.end()) {
    for (BufferId k : declared.ids()) {
      if (!IsScratch(declared[k].role)) continue;
      absl::StatusOr<int64_t> bytes =
          ByteSize(declared[k].dtype, declared[k].dims);
      CHECK_OK(bytes);
      auto memory = DeviceMemory::Allocate(*bytes, space);
      CHECK_OK(memory);
      addresses[k] = memory->address();
      own.push_back(*std::move(memory));
    }
  }

  IdVector<BufferId, std::byte*> addresses;
  std::vector<DeviceMemory> own;
};

class CheckingExecutable : public Executable {
 public:
  CheckingExecutable(const LoopProgram& program, const MemorySpace& space,
                     std::string tiers, std::unique_ptr<Executable> reference,
                     std::unique_ptr<Executable> checked,
                     std::atomic<int64_t>* runs)
      : name_(program.name),
        buffers_(program.buffers),
        space_(space),
        tiers_(std::move(tiers)),
        reference_(std::move(reference)),
        checked_(std::move(checked)),
        runs_(*runs) {}

  // Each tier gets scratch memory of its own for each run.
  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    const HostArguments expected(buffers_, space_, buffers);
    reference_->Run(expected.addresses, statics);
    checked_->Run(WithScratch(buffers_, space_, buffers).addresses, statics);
    for (BufferId k : buffers_.ids()) {
      if (!IsResult(buffers_[k].role)) continue;
      const std::string difference = FirstDifference(
          buffers_[k],
          ArrayAt(buffers_[k], HostMemory(), expected.addresses[k]),
          ArrayAt(buffers_[k], space_, buffers[k.index]));
      CHECK(difference.empty())
          << tiers_ << " in routine " << name_ << ": " << difference;
    }
    runs_.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  const std::string name_;
  const IdVector<BufferId, Buffer> buffers_;
  const MemorySpace& space_;  // of the checked tier
  const std::string tiers_;   // "x86 differs from interp"
  const std::unique_ptr<Executable> reference_;
  const std::unique_ptr<Executable> checked_;
  std::atomic<int64_t>& runs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Executable>> CheckingBackend::Checked(
    const LoopProgram& program,
    absl::StatusOr<std::unique_ptr<Executable>> checked) const {
  OCANNL_RETURN_IF_ERROR(checked.status());
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> reference,
                          reference_.Compile(program));
  return std::make_unique<CheckingExecutable>(
      program, memory(),
      absl::StrCat(checked_.name(), " differs from ", reference_.name()),
      std::move(reference), *std::move(checked), &runs_);
}

absl::StatusOr<std::unique_ptr<Executable>> CheckingBackend::Compile(
    const LoopProgram& program) const {
  return Checked(program, checked_.Compile(program));
}

absl::StatusOr<std::unique_ptr<Executable>> CheckingBackend::CompileHot(
    const LoopProgram& program) const {
  return Checked(program, checked_.CompileHot(program));
}

std::string CheckingBackend::Report() const {
  return absl::StrCat(checked_.Report(), runs_.load(),
                      " runs left the bits of ", reference_.name(), "\n");
}

}  // namespace ocannl
