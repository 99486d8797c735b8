// SPDX-License-Identifier: Apache-2.0
#include "ocannl/emulation/emulated_cuda.h"

#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/emulation/emulated_driver.h"

namespace ocannl::emulation {
namespace {

const Backend& Opened(cuda::CudaOptions options) {
  auto backend = OpenEmulatedCuda(std::move(options));
  CHECK_OK(backend);
  return *std::move(backend)->release();
}

}  // namespace

absl::StatusOr<std::unique_ptr<const cuda::CudaBackend>> OpenEmulatedCuda(
    cuda::CudaOptions options, std::function<std::string(std::string)> change) {
  return cuda::CudaBackend::Open(
      std::move(options), EmulatedDriver(),
      [change = std::move(change)](
          const std::string& text, const std::string&,
          const std::string&) -> absl::StatusOr<std::string> {
        return change == nullptr ? text : change(text);
      },
      "gcc");
}

const Backend& EmulatedCuda() {
  static const Backend& backend = Opened({.schedules = false});
  return backend;
}

const Backend& EmulatedScheduledCuda() {
  static const Backend& backend = Opened({.target = &gpu::kTinyGpu});
  return backend;
}

}  // namespace ocannl::emulation
