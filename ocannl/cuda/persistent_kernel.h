// SPDX-License-Identifier: Apache-2.0
//
// PersistentKernel: a small program that a GPU repeats without the host, in one
// block that stays on it (schedule/gpu/one_block.h).
#ifndef OCANNL_CUDA_PERSISTENT_KERNEL_H_
#define OCANNL_CUDA_PERSISTENT_KERNEL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/plan_buffers.h"
#include "ocannl/cuda/gpu.h"
#include "ocannl/cuda/kernel_text.h"

namespace ocannl::cuda {

// One run at a time. The GPU outlives it.
class PersistentKernel {
 public:
  // Makes the kernel of `block`, a result of ScheduleOneBlock. A launch runs
  // about `runs_of_launch` of its statements: drivers of GPUs with a display
  // end kernels that run for seconds, and other work waits for a launch.
  // `compile` returns machine code for a text. Errors: of `compile`; too many
  // arguments; those of the driver.
  static absl::StatusOr<std::unique_ptr<PersistentKernel>> Make(
      const LoopProgram& block, const Gpu& gpu, double runs_of_launch,
      absl::FunctionRef<absl::StatusOr<std::string>(const std::string&)>
          compile);

  // What Run needs for temps.
  size_t arena_bytes() const { return static_cast<size_t>(plan_.arena_bytes); }

  // Runs `count` times, with these static indices at first, to each of which
  // its step is added after each run. Buffers are as in Executable::Run. Error:
  // what the driver says.
  absl::Status Run(absl::Span<std::byte* const> buffers, std::byte* arena,
                   absl::Span<const int64_t> statics,
                   absl::Span<const int64_t> steps, int64_t count);

 private:
  explicit PersistentKernel(const Gpu& gpu) : gpu_(gpu) {}

  const Gpu& gpu_;
  int64_t most_runs_ = 1;  // of a launch
  BufferPlan plan_;
  std::vector<BufferId> buffers_;  // the kernel's first arguments
  std::unique_ptr<const Module> module_;
  KernelCall call_;
  DeviceMemory cells_;  // static indices, their steps, and how many runs
};

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_PERSISTENT_KERNEL_H_
