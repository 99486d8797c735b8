// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/calls_in_queue.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"

namespace ocannl::cuda {

absl::StatusOr<CallsInQueue> CallsInQueue::Make(const Gpu& gpu,
                                                std::vector<KernelCall> calls,
                                                size_t num_statics) {
  CallsInQueue made(gpu);
  made.calls_ = std::move(calls);
  if (num_statics == 0) return made;
  OCANNL_ASSIGN_OR_RETURN(
      made.statics_,
      DeviceMemory::Allocate(2 * num_statics * sizeof(int64_t), gpu));
  made.stored_.resize(2 * num_statics, 0);
  for (KernelCall& call : made.calls_) {
    call.arguments.back() = made.statics_.address();
  }
  return made;
}

absl::Status CallsInQueue::Repeat(absl::Span<const Kernel> kernels,
                                  const Addresses& addresses,
                                  absl::Span<const int64_t> statics,
                                  absl::Span<const int64_t> steps,
                                  int64_t count) {
  for (size_t k = 0; k < statics.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(Store(statics[k], k));
    OCANNL_RETURN_IF_ERROR(Store(steps[k], statics.size() + k));
  }
  const bool was_bound = Bind(kernels, addresses);
  if (graph_ == nullptr && (was_bound || count > 1) && calls_.size() > 1) {
    OCANNL_ASSIGN_OR_RETURN(graph_, gpu_->Build(calls_));
    ++graphs_;
  }
  for (int64_t run = 0; run < count; ++run) {
    OCANNL_RETURN_IF_ERROR(Launch());
    for (size_t k = 0; k < statics.size(); ++k) stored_[k] += steps[k];
  }
  return absl::OkStatus();
}

// All calls once.
absl::Status CallsInQueue::Launch() const {
  if (graph_ != nullptr) return gpu_->Launch(*graph_);
  for (const KernelCall& call : calls_) {
    OCANNL_RETURN_IF_ERROR(gpu_->Launch(call));
  }
  return absl::OkStatus();
}

// Of the values of static indices and their steps, the one of that number.
absl::Status CallsInQueue::Store(int64_t value, size_t number) {
  if (stored_[number] == value) return absl::OkStatus();
  OCANNL_RETURN_IF_ERROR(
      gpu_->Store(value, statics_.address() + number * sizeof(int64_t)));
  stored_[number] = value;
  return absl::OkStatus();
}

// Makes those the addresses of the calls; whether they were so before.
bool CallsInQueue::Bind(absl::Span<const Kernel> kernels,
                        const Addresses& addresses) {
  bool was_bound = true;
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::vector<const std::byte*>& arguments = calls_[k].arguments;
    for (size_t j = 0; j < kernels[k].buffers.size(); ++j) {
      const std::byte* address = addresses[kernels[k].buffers[j]];
      was_bound = was_bound && arguments[j] == address;
      arguments[j] = address;
    }
  }
  if (!was_bound) graph_ = nullptr;
  return was_bound;
}

}  // namespace ocannl::cuda
