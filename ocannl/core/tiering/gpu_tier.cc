// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/gpu_tier.h"

#include "absl/strings/str_cat.h"

namespace ocannl {

absl::Status GpuTier::Open() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!std::exchange(was_tried_, true)) {
    result_ = open_();
    if (result_.ok()) {
      memory_.SetGpu(result_->backend);
      opened_.store(&*result_, std::memory_order_release);
    }
  }
  return result_.status();
}

std::string GpuTier::Report() const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!was_tried_) return "GPU: not opened, as no program would gain by it\n";
  if (!result_.ok()) {
    return absl::StrCat("GPU: not used: ", result_.status().message(), "\n");
  }
  return absl::StrCat("GPU: ", result_->note, "\n", result_->backend->Report());
}

}  // namespace ocannl
