// SPDX-License-Identifier: Apache-2.0
//
// CallsInQueue: the kernels of a program for one queue of a GPU. It has their
// last addresses, a graph of them, and the static indices, which the device
// counts.
#ifndef OCANNL_CUDA_CALLS_IN_QUEUE_H_
#define OCANNL_CUDA_CALLS_IN_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/cuda/gpu.h"
#include "ocannl/cuda/kernel_text.h"

namespace ocannl::cuda {

// One run at a time, all in the queue of the thread, which is always the same.
class CallsInQueue {
 public:
  using Addresses = IdVector<BufferId, const std::byte*>;

  // `calls` are those of the kernels and, where there are static indices, that
  // which counts them (KernelText::advance). The GPU outlives it. Error: no
  // memory.
  static absl::StatusOr<CallsInQueue> Make(const Gpu& gpu,
                                           std::vector<KernelCall> calls,
                                           size_t num_statics);

  // Runs `count` times, with these static indices at first, to each of which
  // its step is added after each run. `kernels` are those of the calls, and all
  // their buffers have an address. Error: what the driver says.
  absl::Status Repeat(absl::Span<const Kernel> kernels,
                      const Addresses& addresses,
                      absl::Span<const int64_t> statics,
                      absl::Span<const int64_t> steps, int64_t count);

  int64_t graphs() const { return graphs_; }  // that were built

 private:
  explicit CallsInQueue(const Gpu& gpu) : gpu_(&gpu) {}

  absl::Status Store(int64_t value, size_t number);
  bool Bind(absl::Span<const Kernel> kernels, const Addresses& addresses);
  absl::Status Launch() const;

  const Gpu* gpu_;
  DeviceMemory statics_;         // the static indices, and then their steps
  std::vector<int64_t> stored_;  // what those are
  std::vector<KernelCall> calls_;
  std::unique_ptr<const Graph> graph_;  // of the calls, or null
  int64_t graphs_ = 0;
};

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_CALLS_IN_QUEUE_H_
