// SPDX-License-Identifier: Apache-2.0
//
// The CUDA tier on a driver whose GPUs are emulated on the processor: the text
// of kernels is compiled by gcc (emulated_device.h).
//
//   EXPECT_EQ(fuzz::Trial(program, kind, seed).Try(EmulatedCuda()), "");
//
// The driver is as unkind as a real one may be: nothing is done before somebody
// waits for it, calls of a graph come in any order that their dependences
// allow, a kernel runs its threads in another order each time, new memory holds
// anything, and the host cannot follow its addresses.
#ifndef OCANNL_FUZZ_EMULATED_CUDA_H_
#define OCANNL_FUZZ_EMULATED_CUDA_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/cuda/cuda_backend.h"
#include "ocannl/cuda/driver.h"

namespace ocannl::fuzz {

// Of two GPUs "emulated" of compute capability 9.0.
cuda::DriverFunctions EmulatedDriver();

// Makes the n-th call of the driver from now on fail, the next one if n is 1;
// 0: none does. How many calls there were since the last of this.
int FailCall(int n);

// Contexts, streams, modules, graphs and pieces of memory that there are.
int NumDriverObjects();

// The CUDA tier on that driver. `change` changes the text of kernels.
absl::StatusOr<std::unique_ptr<const cuda::CudaBackend>> OpenEmulatedCuda(
    cuda::CudaOptions options,
    std::function<std::string(std::string)> change = nullptr);

// The kernels of programs as they are, and as ScheduleGpu makes them for the
// tiny target.
const Backend& EmulatedCuda();
const Backend& EmulatedScheduledCuda();

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_EMULATED_CUDA_H_
