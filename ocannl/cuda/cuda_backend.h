// SPDX-License-Identifier: Apache-2.0
//
// The CUDA tier: LoopProgram -> Executable of kernels, with the interpreter's
// bits.
//
//   OCANNL_ASSIGN_OR_RETURN(auto backend, cuda::CudaBackend::Open({}));
//   Device device("gpu", backend.get());
//
// A run launches the kernels of the program and returns. From the second run on
// the same buffers on, it launches a graph of the kernels, in which kernels
// that do not conflict may run in parallel.
#ifndef OCANNL_CUDA_CUDA_BACKEND_H_
#define OCANNL_CUDA_CUDA_BACKEND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/codegen/code_cache.h"
#include "ocannl/core/runtime/backend.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/cuda/driver.h"
#include "ocannl/cuda/kernel_text.h"
#include "ocannl/cuda/nccl.h"

namespace ocannl::cuda {

// The machine code of a text of CUDA C for an architecture such as "sm_90";
// `name` is in its errors. Thread-safe.
using Compiler = std::function<absl::StatusOr<std::string>(
    const std::string& text, const std::string& name,
    const std::string& architecture)>;

struct CudaOptions {
  int device = 0;
  std::string cuda_home = "";  // see nvrtc.h
  bool schedules = true;       // false: compiles programs as they are
  // Whose schedules; null: those of the GPU.
  const gpu::GpuTarget* target = nullptr;
  std::shared_ptr<CodeCache> cache = nullptr;  // of code; null: none
  // After `runs_before_persistent` runs, a small program gets a persistent
  // kernel for runs that repeat it; NVRTC takes 0.3 s for the step of moons. A
  // launch of that kernel runs about `runs_of_launch` statements, about 0.1 s.
  // No GPU has measured these.
  int64_t runs_before_persistent = 4096;
  double runs_of_launch = 1e9;
};

// Thread-safe. Must outlive its executables, its queues, its network, and all
// memory of its space. Runs in one queue are done one after the other.
class CudaBackend : public Backend {
 public:
  // With the driver and the NVRTC of this machine. Errors: those of FindDriver,
  // Nvrtc::Open and Gpu::Open.
  static absl::StatusOr<std::unique_ptr<const CudaBackend>> Open(
      CudaOptions options);

  // With others: `compiler_id` names the compiler for the cache; `find_nccl` is
  // called once at most; null: there is none.
  using NcclFinder = std::function<absl::StatusOr<NcclFunctions>()>;
  static absl::StatusOr<std::unique_ptr<const CudaBackend>> Open(
      CudaOptions options, DriverFunctions driver, Compiler compiler,
      std::string compiler_id, NcclFinder find_nccl = nullptr);

  ~CudaBackend() override;

  absl::string_view name() const override;  // "cuda:0"
  std::string device() const;               // "NVIDIA H200 (sm_90)"
  const MemorySpace& memory() const override;
  std::shared_ptr<DeviceQueue> MakeQueue() const override;
  const DeviceNetwork* network() const override;

  // `program` must be one that Verify accepts. Errors: what the compiler or the
  // driver says; a kernel with too many arguments.
  absl::StatusOr<std::unique_ptr<Executable>> Compile(
      const LoopProgram& program) const override;

  absl::Status RunStatus() const override;

  // The GPU, and how many kernels it got; those of one thread; graphs;
  // persistent kernels.
  std::string Report() const override;

 private:
  struct State;
  class CudaExecutable;

  explicit CudaBackend(std::unique_ptr<State> state);

  // Their machine code, some functions in each, compiled side by side.
  absl::StatusOr<std::vector<std::string>> ModulesOf(
      absl::Span<const KernelFunction> functions,
      const std::string& name) const;

  const std::unique_ptr<State> state_;
};

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_CUDA_BACKEND_H_
