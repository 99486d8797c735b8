// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/persistent_kernel.h"

#include <algorithm>

#include "absl/memory/memory.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/gpu/one_block.h"

namespace ocannl::cuda {

absl::StatusOr<std::unique_ptr<PersistentKernel>> PersistentKernel::Make(
    const LoopProgram& block, const Gpu& gpu, double runs_of_launch,
    absl::FunctionRef<absl::StatusOr<std::string>(const std::string&)>
        compile) {
  auto made = absl::WrapUnique(new PersistentKernel(gpu));
  made->most_runs_ = static_cast<int64_t>(
      std::clamp(runs_of_launch / gpu::CountRuns(block, block.body), 1., 1e6));
  const KernelText text = WritePersistentKernel(block);
  CHECK_EQ(text.kernels.size(), size_t{1});
  OCANNL_ASSIGN_OR_RETURN(const std::string code,
                          compile(SourceOf(text.functions)));
  OCANNL_ASSIGN_OR_RETURN(made->plan_, PlanBuffers(block));
  OCANNL_ASSIGN_OR_RETURN(made->module_, gpu.Load(code));
  const Kernel& kernel = text.kernels[0];
  OCANNL_ASSIGN_OR_RETURN(made->call_,
                          made->module_->Call(kernel, text.functions[0].name,
                                              kernel.buffers.size() + 1));
  made->buffers_ = kernel.buffers;
  OCANNL_ASSIGN_OR_RETURN(
      made->cells_, DeviceMemory::Allocate(
                        (2 * block.statics.size() + 1) * sizeof(int64_t), gpu));
  made->call_.arguments.back() = made->cells_.address();
  return made;
}

absl::Status PersistentKernel::Run(absl::Span<std::byte* const> buffers,
                                   std::byte* arena,
                                   absl::Span<const int64_t> statics,
                                   absl::Span<const int64_t> steps,
                                   int64_t count) {
  for (size_t k = 0; k < buffers_.size(); ++k) {
    const int64_t offset = plan_.offsets[buffers_[k]];
    call_.arguments[k] = offset >= 0
                             ? arena + offset
                             : buffers[static_cast<size_t>(buffers_[k].index)];
  }
  std::vector<int64_t> cells(statics.begin(), statics.end());
  cells.insert(cells.end(), steps.begin(), steps.end());
  for (int64_t done = 0; done < count; done += most_runs_) {
    cells.resize(2 * statics.size());
    cells.push_back(std::min(count - done, most_runs_));
    for (size_t k = 0; k < cells.size(); ++k) {
      OCANNL_RETURN_IF_ERROR(
          gpu_.Store(cells[k], cells_.address() + k * sizeof(int64_t)));
    }
    OCANNL_RETURN_IF_ERROR(gpu_.Launch(call_));
    for (size_t k = 0; k < statics.size(); ++k) {
      cells[k] += steps[k] * cells.back();
    }
  }
  return absl::OkStatus();
}

}  // namespace ocannl::cuda
