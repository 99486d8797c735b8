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

absl::StatusOr<NdArray> ArrayAt(const Buffer& buffer, const MemorySpace& space,
                                const std::byte* cells) {
  NdArray array(buffer.dtype, buffer.dims);
  OCANNL_RETURN_IF_ERROR(
      space.Copy(cells, array.bytes(), array.data(), CopyKind::kOut));
  return array;
}

// Buffers of one run, and the memory of those that are not the caller's.
template <class Memory>
struct Arguments {
  explicit Arguments(absl::Span<std::byte* const> given)
      : addresses(given.begin(), given.end()) {
    own.reserve(given.size());  // they stay where they are
  }

  IdVector<BufferId, std::byte*> addresses;
  std::vector<Memory> own;
};

// Of the reference: it has scratch of its own, and copies on the host of what
// it may write or cannot address.
absl::StatusOr<Arguments<NdArray>> OnHost(
    const IdVector<BufferId, Buffer>& declared, const MemorySpace& space,
    absl::Span<std::byte* const> given) {
  Arguments<NdArray> made(given);
  for (BufferId k : declared.ids()) {
    if (IsReadOnly(declared[k].role) && space.is_host()) continue;
    if (IsScratch(declared[k].role)) {
      made.own.emplace_back(declared[k].dtype, declared[k].dims);
    } else {
      OCANNL_ASSIGN_OR_RETURN(NdArray copy,
                              ArrayAt(declared[k], space, made.addresses[k]));
      made.own.push_back(std::move(copy));
    }
    made.addresses[k] = made.own.back().data();
  }
  return made;
}

// `given`, and new memory of `space` for the scratch.
absl::StatusOr<Arguments<DeviceMemory>> WithScratch(
    const IdVector<BufferId, Buffer>& declared, const MemorySpace& space,
    absl::Span<std::byte* const> given) {
  Arguments<DeviceMemory> made(given);
  for (BufferId k : declared.ids()) {
    if (!IsScratch(declared[k].role)) continue;
    OCANNL_ASSIGN_OR_RETURN(const int64_t bytes,
                            ByteSize(declared[k].dtype, declared[k].dims));
    OCANNL_ASSIGN_OR_RETURN(made.own.emplace_back(),
                            DeviceMemory::Allocate(bytes, space));
    made.addresses[k] = made.own.back().address();
  }
  return made;
}

}  // namespace

class CheckingBackend::CheckingExecutable : public Executable {
 public:
  CheckingExecutable(const LoopProgram& program, const CheckingBackend* backend,
                     std::unique_ptr<Executable> reference,
                     std::unique_ptr<Executable> checked)
      : name_(program.name),
        buffers_(program.buffers),
        backend_(*backend),
        reference_(std::move(reference)),
        checked_(std::move(checked)) {}

  // Each tier gets scratch memory of its own for each run.
  bool HasScratch() const override { return true; }

  void Run(absl::Span<std::byte* const> buffers,
           absl::Span<const int64_t> statics) const override {
    const absl::Status status = RunBoth(buffers, statics);
    if (status.ok()) {
      backend_.runs_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    std::lock_guard<std::mutex> lock(backend_.mutex_);
    backend_.status_.Update(status);
  }

 private:
  // Error: the checked tier failed, so that there is nothing to compare.
  absl::Status RunBoth(absl::Span<std::byte* const> buffers,
                       absl::Span<const int64_t> statics) const {
    OCANNL_RETURN_IF_ERROR(backend_.RunStatus());
    const MemorySpace& space = backend_.memory();
    OCANNL_ASSIGN_OR_RETURN(const Arguments<NdArray> expected,
                            OnHost(buffers_, space, buffers));
    OCANNL_ASSIGN_OR_RETURN(const Arguments<DeviceMemory> given,
                            WithScratch(buffers_, space, buffers));
    reference_->Run(expected.addresses, statics);
    checked_->Run(given.addresses, statics);
    for (BufferId k : buffers_.ids()) {
      if (!IsResult(buffers_[k].role)) continue;
      OCANNL_ASSIGN_OR_RETURN(
          const NdArray wanted,
          ArrayAt(buffers_[k], HostMemory(), expected.addresses[k]));
      OCANNL_ASSIGN_OR_RETURN(const NdArray left,
                              ArrayAt(buffers_[k], space, buffers[k.index]));
      OCANNL_RETURN_IF_ERROR(backend_.RunStatus());
      const std::string difference = FirstDifference(buffers_[k], wanted, left);
      CHECK(difference.empty())
          << backend_.name() << " differs from " << backend_.reference_.name()
          << " in routine " << name_ << ": " << difference;
    }
    return absl::OkStatus();
  }

  const std::string name_;
  const IdVector<BufferId, Buffer> buffers_;
  const CheckingBackend& backend_;
  const std::unique_ptr<Executable> reference_;
  const std::unique_ptr<Executable> checked_;
};

absl::StatusOr<std::unique_ptr<Executable>> CheckingBackend::Checked(
    const LoopProgram& program,
    absl::StatusOr<std::unique_ptr<Executable>> checked) const {
  OCANNL_RETURN_IF_ERROR(checked.status());
  OCANNL_ASSIGN_OR_RETURN(std::unique_ptr<Executable> reference,
                          reference_.Compile(program));
  return std::make_unique<CheckingExecutable>(
      program, this, std::move(reference), *std::move(checked));
}

absl::StatusOr<std::unique_ptr<Executable>> CheckingBackend::Compile(
    const LoopProgram& program) const {
  return Checked(program, checked_.Compile(program));
}

absl::StatusOr<std::unique_ptr<Executable>> CheckingBackend::CompileHot(
    const LoopProgram& program) const {
  return Checked(program, checked_.CompileHot(program));
}

absl::Status CheckingBackend::RunStatus() const {
  OCANNL_RETURN_IF_ERROR(checked_.RunStatus());
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

std::string CheckingBackend::Report() const {
  return absl::StrCat(checked_.Report(), runs_.load(),
                      " runs left the bits of ", reference_.name(), "\n");
}

}  // namespace ocannl
