// SPDX-License-Identifier: Apache-2.0
//
// The CUDA tier on emulated GPUs (emulated_driver.h).
//
//   EXPECT_EQ(fuzz::Trial(program, kind, seed).Try(EmulatedCuda()), "");
#ifndef OCANNL_EMULATION_EMULATED_CUDA_H_
#define OCANNL_EMULATION_EMULATED_CUDA_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/cuda/cuda_backend.h"

namespace ocannl::emulation {

// The CUDA tier on the emulated driver. `change` changes the text of kernels.
absl::StatusOr<std::unique_ptr<const cuda::CudaBackend>> OpenEmulatedCuda(
    cuda::CudaOptions options,
    std::function<std::string(std::string)> change = nullptr);

// The kernels of programs as they are, and as ScheduleGpu makes them for the
// tiny target.
const Backend& EmulatedCuda();
const Backend& EmulatedScheduledCuda();

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_EMULATED_CUDA_H_
