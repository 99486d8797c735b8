// SPDX-License-Identifier: Apache-2.0
//
// Gpu: one GPU: its memory, its modules of machine code, and its queues, which
// are CUDA's streams. Copies and launches go to the queue of the thread
// (DeviceQueue::Scope), or without one to the legacy stream, which the driver
// orders with all of them.
//
//   OCANNL_ASSIGN_OR_RETURN(auto gpu, Gpu::Open(*FindDriver(), 0));
//   OCANNL_ASSIGN_OR_RETURN(auto module, gpu->Load(cubin));
//   OCANNL_ASSIGN_OR_RETURN(auto kernel, module->Find("step_0", 0));
//   OCANNL_RETURN_IF_ERROR(gpu->Launch({kernel, 10, 256, 0, arguments}));
//   OCANNL_RETURN_IF_ERROR(gpu->Synchronize());
#ifndef OCANNL_CUDA_GPU_H_
#define OCANNL_CUDA_GPU_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/core/runtime/device_queue.h"
#include "ocannl/core/runtime/threads/event.h"
#include "ocannl/cuda/driver.h"
#include "ocannl/cuda/kernel_text.h"

namespace ocannl::cuda {

class Gpu;

// What a GPU has for this process. Modules, memory and the like end with the
// last one that shares it.
class PrimaryContext {
 public:
  PrimaryContext(const DriverFunctions& driver, int device,
                 ContextHandle handle)
      : driver_(driver), device_(device), handle_(handle) {}
  PrimaryContext(const PrimaryContext&) = delete;
  ~PrimaryContext() { driver_.DevicePrimaryCtxRelease(device_); }

  const DriverFunctions& driver() const { return driver_; }
  Result Enter() const { return driver_.CtxSetCurrent(handle_); }

 private:
  const DriverFunctions driver_;
  const int device_;
  const ContextHandle handle_;
};

// A stream of CUDA. The GPU outlives it.
class GpuQueue : public DeviceQueue,
                 public std::enable_shared_from_this<GpuQueue> {
 public:
  GpuQueue(const Gpu* gpu, StreamHandle handle) : gpu_(*gpu), handle_(handle) {}
  GpuQueue(const GpuQueue&) = delete;
  ~GpuQueue() override;

  std::shared_ptr<const DeviceEvent> Record() override;
  void WaitFor(const DeviceEvent& event) override;

  StreamHandle handle() const { return handle_; }  // null: the legacy stream

  // At least so many bytes for temps of what is given to the queue next, until
  // the next call. Error: no memory.
  absl::StatusOr<std::byte*> Scratch(size_t bytes);

 private:
  friend class Gpu;
  const Gpu& gpu_;
  const StreamHandle handle_;
  DeviceMemory scratch_;
};

// A call of a kernel. Arguments are addresses.
struct KernelCall {
  FunctionHandle function;
  int64_t blocks;
  int64_t threads;  // of a block
  int64_t shared_bytes;
  std::vector<const std::byte*> arguments;
  std::vector<size_t> after;  // which earlier calls of a graph it waits for
};

// Kernels that a GPU has loaded.
class Module {
 public:
  Module(const Gpu* gpu, ModuleHandle handle) : gpu_(*gpu), handle_(handle) {}
  Module(const Module&) = delete;
  ~Module();

  // A call of `kernel`, the function of that name, which waits for none, with
  // room for so many arguments. Errors: none of that name; more shared memory,
  // arguments or blocks than the GPU has or takes.
  absl::StatusOr<KernelCall> Call(const Kernel& kernel, const std::string& name,
                                  size_t arguments) const;

 private:
  const Gpu& gpu_;
  const ModuleHandle handle_;
};

// Calls that are launched at once (CUDA graphs).
class Graph {
 public:
  Graph(const Gpu* gpu, GraphExecHandle handle) : gpu_(*gpu), handle_(handle) {}
  Graph(const Graph&) = delete;
  ~Graph();

 private:
  friend class Gpu;
  const Gpu& gpu_;
  const GraphExecHandle handle_;
};

// Thread-safe. Outlives its queues, modules, graphs and memory.
class Gpu : public MemorySpace {
 public:
  // The GPU of number `ordinal`. Errors: no GPU of that number; what the driver
  // says.
  static absl::StatusOr<std::unique_ptr<const Gpu>> Open(DriverFunctions driver,
                                                         int ordinal);
  Gpu(const Gpu&) = delete;

  absl::string_view name() const override { return name_; }  // "cuda:0"
  const std::string& model() const { return model_; }        // "NVIDIA H200"
  const std::string& architecture() const { return architecture_; }  // "sm_90"
  int64_t max_shared_bytes() const { return max_shared_bytes_; }  // of a block
  int64_t multiprocessors() const { return multiprocessors_; }
  const Uuid& uuid() const { return uuid_; }

  absl::StatusOr<std::byte*> Allocate(size_t bytes) const override;
  void Free(std::byte* address) const override;
  absl::Status Copy(const std::byte* from, size_t bytes, std::byte* to,
                    CopyKind kind) const override;

  // Makes its context that of the calling thread, as all functions here do.
  absl::Status Enter() const;

  // Null: the driver gives no more.
  std::shared_ptr<GpuQueue> MakeQueue() const;

  // That of the calling thread, which is the legacy stream's if it has none.
  GpuQueue& CurrentQueue() const;

  // The first of the errors that were noted: of work that nobody waits for.
  absl::Status status() const;
  void Note(const absl::Status& error) const;

  // Makes the eight bytes at `cell` those of `value`, in its turn.
  absl::Status Store(int64_t value, std::byte* cell) const;

  // Machine code for the architecture. Error: it is none.
  absl::StatusOr<std::unique_ptr<const Module>> Load(
      const std::string& cubin) const;

  absl::Status Launch(const KernelCall& call) const;

  // A call starts when those that it is to wait for are done.
  absl::StatusOr<std::unique_ptr<const Graph>> Build(
      absl::Span<const KernelCall> calls) const;
  absl::Status Launch(const Graph& graph) const;

  // Returns when what all queues were given is done. Error: that of a kernel.
  absl::Status Synchronize() const;

 private:
  friend class Module;
  friend class Graph;
  friend class GpuQueue;

  explicit Gpu(DriverFunctions driver) : driver_(std::move(driver)) {}
  absl::Status Init(int ordinal);
  absl::StatusOr<int> Attribute(int attribute) const;
  // Returns when what the queue of the thread was given is done.
  absl::Status Finish() const;
  absl::Status Check(Result result, absl::string_view what) const {
    return driver_.Check(result, what);
  }

  const DriverFunctions driver_;
  int device_ = 0;
  std::shared_ptr<const PrimaryContext> context_;
  std::string name_;
  std::string model_;
  std::string architecture_;
  int64_t max_shared_bytes_ = 0;
  int64_t multiprocessors_ = 0;
  Uuid uuid_ = {};
  bool reads_host_memory_ = false;  // that is not page-locked
  mutable std::mutex mutex_;
  mutable absl::Status status_;       // guarded by it
  std::shared_ptr<GpuQueue> legacy_;  // ends before all else
};

}  // namespace ocannl::cuda

#endif  // OCANNL_CUDA_GPU_H_
