// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/gpu.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"

namespace ocannl::cuda {
namespace {

// Of a kernel on every GPU: 4096 bytes of arguments, and the blocks of one axis
// (CUDA C++ Programming Guide, "Function Parameters" and "Technical
// Specifications per Compute Capability").
constexpr int64_t kMaxArguments = 4096 / sizeof(DevicePointer);
constexpr int64_t kMaxBlocks = std::numeric_limits<int32_t>::max();

absl::Status CheckCount(absl::string_view kernel, int64_t count,
                        absl::string_view what, int64_t most) {
  if (count <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("kernel ", kernel, " has ",
                                                   count, " ", what,
                                                   ", and a GPU takes ", most));
}

DevicePointer AddressOf(const std::byte* bytes) {
  return reinterpret_cast<DevicePointer>(bytes);
}

// The arguments of a call as one piece of memory (`extra` of cuLaunchKernel),
// so that their number need not be known.
class Arguments {
 public:
  explicit Arguments(const KernelCall& call)
      : bytes_(call.arguments.size() * sizeof(DevicePointer)),
        extra_{reinterpret_cast<void*>(1),  // CU_LAUNCH_PARAM_BUFFER_POINTER
               const_cast<const std::byte**>(call.arguments.data()),
               reinterpret_cast<void*>(2),  // CU_LAUNCH_PARAM_BUFFER_SIZE
               &bytes_, nullptr} {}
  Arguments(const Arguments&) = delete;

  void** extra() { return extra_; }

 private:
  size_t bytes_;
  void* extra_[5];
};

}  // namespace

// An event of CUDA.
class GpuEvent : public DeviceEvent {
 public:
  explicit GpuEvent(std::shared_ptr<const PrimaryContext> context)
      : context_(std::move(context)) {}
  GpuEvent(const GpuEvent&) = delete;
  ~GpuEvent() override {
    (void)context_->Enter();
    if (handle_ != nullptr) driver().EventDestroy(handle_);
  }

  Result Record(StreamHandle stream) {
    const Result result = driver().EventCreate(&handle_, kDisableTiming);
    return result != kSuccess ? result : driver().EventRecord(handle_, stream);
  }

  EventHandle handle() const { return handle_; }
  bool IsDone() const override {
    return driver().EventQuery(handle_) == kSuccess;
  }
  // Whoever reads what the device has left is told of its errors.
  void Wait() const override {
    (void)context_->Enter();
    driver().EventSynchronize(handle_);
  }

 private:
  const DriverFunctions& driver() const { return context_->driver(); }

  const std::shared_ptr<const PrimaryContext> context_;
  EventHandle handle_ = nullptr;
};

GpuQueue::~GpuQueue() {
  if (handle_ == nullptr) return;
  (void)gpu_.Enter();
  gpu_.driver_.StreamDestroy(handle_);
}

std::shared_ptr<const DeviceEvent> GpuQueue::Record() {
  absl::Status status = gpu_.Enter();
  auto event = std::make_shared<GpuEvent>(gpu_.context_);
  if (status.ok()) status = gpu_.Check(event->Record(handle_), "event");
  if (status.ok()) return event;
  gpu_.Note(status);
  return nullptr;
}

void GpuQueue::WaitFor(const DeviceEvent& event) {
  const auto* on_gpu = dynamic_cast<const GpuEvent*>(&event);
  if (on_gpu == nullptr) return event.Wait();
  gpu_.Note(gpu_.Enter());
  gpu_.Note(gpu_.Check(
      gpu_.driver_.StreamWaitEvent(handle_, on_gpu->handle(), /*flags=*/0),
      "wait for an event"));
}

absl::StatusOr<std::byte*> GpuQueue::Scratch(size_t bytes) {
  if (scratch_.size() < bytes) {
    OCANNL_ASSIGN_OR_RETURN(scratch_, DeviceMemory::Allocate(bytes, gpu_));
  }
  return scratch_.address();
}

Module::~Module() {
  (void)gpu_.Enter();
  gpu_.driver_.ModuleUnload(handle_);
}

absl::StatusOr<KernelCall> Module::Call(const Kernel& kernel,
                                        const std::string& name,
                                        size_t arguments) const {
  OCANNL_RETURN_IF_ERROR(CheckCount(name, static_cast<int64_t>(arguments),
                                    "arguments", kMaxArguments));
  OCANNL_RETURN_IF_ERROR(CheckCount(name, kernel.blocks, "blocks", kMaxBlocks));
  OCANNL_RETURN_IF_ERROR(gpu_.Enter());
  FunctionHandle function = nullptr;
  OCANNL_RETURN_IF_ERROR(gpu_.Check(
      gpu_.driver_.ModuleGetFunction(&function, handle_, name.c_str()),
      absl::StrCat("kernel ", name)));
  if (kernel.shared_bytes > gpu_.max_shared_bytes()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a block of kernel ", name, " needs ", kernel.shared_bytes,
                     " bytes of shared memory, and has ",
                     gpu_.max_shared_bytes(), " on ", gpu_.model()));
  }
  OCANNL_RETURN_IF_ERROR(gpu_.Check(
      gpu_.driver_.FuncSetAttribute(function, kMaxDynamicSharedSizeBytes,
                                    static_cast<int>(kernel.shared_bytes)),
      absl::StrCat("shared memory of kernel ", name)));
  return KernelCall{.function = function,
                    .blocks = kernel.blocks,
                    .threads = kernel.threads,
                    .shared_bytes = kernel.shared_bytes,
                    .arguments = std::vector<const std::byte*>(arguments),
                    .after = {}};
}

Graph::~Graph() {
  (void)gpu_.Enter();
  // If it still runs, it ends then.
  gpu_.driver_.GraphExecDestroy(handle_);
}

absl::StatusOr<std::unique_ptr<const Gpu>> Gpu::Open(DriverFunctions driver,
                                                     int ordinal) {
  auto gpu = absl::WrapUnique(new Gpu(std::move(driver)));
  OCANNL_RETURN_IF_ERROR(gpu->Init(ordinal));
  return gpu;
}

absl::Status Gpu::Init(int ordinal) {
  OCANNL_RETURN_IF_ERROR(Check(driver_.Init(0), "start of the driver"));
  int count = 0;
  OCANNL_RETURN_IF_ERROR(
      Check(driver_.DeviceGetCount(&count), "number of GPUs"));
  if (ordinal >= count) {
    return absl::NotFoundError(absl::StrCat("no GPU of number ", ordinal,
                                            "; the driver knows ", count,
                                            count == 1 ? " GPU" : " GPUs"));
  }
  name_ = absl::StrCat("cuda:", ordinal);
  OCANNL_RETURN_IF_ERROR(Check(driver_.DeviceGet(&device_, ordinal), name_));
  char model[256] = "";
  OCANNL_RETURN_IF_ERROR(
      Check(driver_.DeviceGetName(model, sizeof(model) - 1, device_), name_));
  model_ = model;
  OCANNL_ASSIGN_OR_RETURN(const int major, Attribute(kComputeCapabilityMajor));
  OCANNL_ASSIGN_OR_RETURN(const int minor, Attribute(kComputeCapabilityMinor));
  architecture_ = absl::StrCat("sm_", major, minor);
  OCANNL_ASSIGN_OR_RETURN(max_shared_bytes_,
                          Attribute(kMaxSharedMemoryPerBlockOptin));
  OCANNL_ASSIGN_OR_RETURN(multiprocessors_, Attribute(kMultiprocessorCount));
  OCANNL_ASSIGN_OR_RETURN(const int reads, Attribute(kPageableMemoryAccess));
  reads_host_memory_ = reads != 0;
  OCANNL_RETURN_IF_ERROR(Check(driver_.DeviceGetUuid(&uuid_, device_), name_));
  ContextHandle context = nullptr;
  OCANNL_RETURN_IF_ERROR(Check(
      driver_.DevicePrimaryCtxRetain(&context, device_), "context of a GPU"));
  context_ = std::make_shared<PrimaryContext>(driver_, device_, context);
  legacy_ = std::make_shared<GpuQueue>(this, nullptr);
  return absl::OkStatus();
}

std::shared_ptr<GpuQueue> Gpu::MakeQueue() const {
  StreamHandle handle = nullptr;
  if (!Enter().ok() ||
      driver_.StreamCreate(&handle, kBlockingStream) != kSuccess) {
    return nullptr;
  }
  return std::make_shared<GpuQueue>(this, handle);
}

GpuQueue& Gpu::CurrentQueue() const {
  auto* queue = dynamic_cast<GpuQueue*>(DeviceQueue::Current());
  return queue != nullptr && &queue->gpu_ == this ? *queue : *legacy_;
}

absl::StatusOr<int> Gpu::Attribute(int attribute) const {
  int value = 0;
  OCANNL_RETURN_IF_ERROR(
      Check(driver_.DeviceGetAttribute(&value, attribute, device_),
            "attribute of a GPU"));
  return value;
}

absl::Status Gpu::Enter() const {
  return Check(context_->Enter(), "context of a GPU");
}

absl::StatusOr<std::byte*> Gpu::Allocate(size_t bytes) const {
  OCANNL_RETURN_IF_ERROR(Enter());
  const std::string what = absl::StrCat("memory, ", bytes, " bytes");
  DevicePointer address = 0;
  bytes = std::max<size_t>(bytes, 1);  // of nothing, the driver gives none
  OCANNL_RETURN_IF_ERROR(Check(driver_.MemAlloc(&address, bytes), what));
  absl::Status zeroed =
      Check(driver_.MemsetD8Async(address, 0, bytes, /*stream=*/nullptr), what);
  if (zeroed.ok()) return reinterpret_cast<std::byte*>(address);
  driver_.MemFree(address);
  return zeroed;
}

void Gpu::Free(std::byte* address) const {
  (void)Synchronize();  // What still runs may use it.
  driver_.MemFree(AddressOf(address));
}

absl::Status Gpu::Copy(const std::byte* from, size_t bytes, std::byte* to,
                       CopyKind kind) const {
  if (bytes == 0 || from == to) return absl::OkStatus();
  OCANNL_RETURN_IF_ERROR(Enter());
  switch (kind) {
    case CopyKind::kIn:
      // Returns when the driver has a copy of the bytes, unless the GPU reads
      // them itself ("API synchronization behavior" of the driver's manual).
      OCANNL_RETURN_IF_ERROR(
          Check(driver_.MemcpyHtoDAsync(AddressOf(to), from, bytes,
                                        CurrentQueue().handle_),
                "copy to the GPU"));
      return reads_host_memory_ ? Finish() : absl::OkStatus();
    case CopyKind::kOut:
      OCANNL_RETURN_IF_ERROR(
          Check(driver_.MemcpyDtoHAsync(to, AddressOf(from), bytes,
                                        CurrentQueue().handle_),
                "copy from the GPU"));
      return Finish();
    case CopyKind::kWithin:
      return Check(driver_.MemcpyDtoDAsync(AddressOf(to), AddressOf(from),
                                           bytes, CurrentQueue().handle_),
                   "copy on the GPU");
  }
  __builtin_unreachable();
}

absl::Status Gpu::Store(int64_t value, std::byte* cell) const {
  OCANNL_RETURN_IF_ERROR(Enter());
  const auto bits = static_cast<uint64_t>(value);
  for (int half : {0, 1}) {
    OCANNL_RETURN_IF_ERROR(
        Check(driver_.MemsetD32Async(AddressOf(cell) + 4 * half,
                                     static_cast<uint32_t>(bits >> 32 * half),
                                     1, CurrentQueue().handle_),
              "static index"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const Module>> Gpu::Load(
    const std::string& cubin) const {
  OCANNL_RETURN_IF_ERROR(Enter());
  ModuleHandle module = nullptr;
  OCANNL_RETURN_IF_ERROR(
      Check(driver_.ModuleLoadData(&module, cubin.c_str()), "machine code"));
  return std::make_unique<const Module>(this, module);
}

absl::Status Gpu::Launch(const KernelCall& call) const {
  OCANNL_RETURN_IF_ERROR(Enter());
  Arguments arguments(call);
  return Check(
      driver_.LaunchKernel(call.function, static_cast<unsigned>(call.blocks), 1,
                           1, static_cast<unsigned>(call.threads), 1, 1,
                           static_cast<unsigned>(call.shared_bytes),
                           CurrentQueue().handle_, nullptr, arguments.extra()),
      "launch of a kernel");
}

absl::StatusOr<std::unique_ptr<const Graph>> Gpu::Build(
    absl::Span<const KernelCall> calls) const {
  OCANNL_RETURN_IF_ERROR(Enter());
  GraphHandle graph = nullptr;
  OCANNL_RETURN_IF_ERROR(Check(driver_.GraphCreate(&graph, 0), "graph"));
  absl::Cleanup destroy = [&] { driver_.GraphDestroy(graph); };
  std::vector<NodeHandle> nodes(calls.size());
  for (size_t k = 0; k < calls.size(); ++k) {
    const KernelCall& call = calls[k];
    std::vector<NodeHandle> after;
    for (size_t other : call.after) after.push_back(nodes[other]);
    Arguments arguments(call);
    const KernelNode node{
        .function = call.function,
        .grid_x = static_cast<unsigned>(call.blocks),
        .grid_y = 1,
        .grid_z = 1,
        .block_x = static_cast<unsigned>(call.threads),
        .block_y = 1,
        .block_z = 1,
        .shared_bytes = static_cast<unsigned>(call.shared_bytes),
        .parameters = nullptr,
        .extra = arguments.extra(),
        .kernel = nullptr,
        .context = nullptr};
    OCANNL_RETURN_IF_ERROR(
        Check(driver_.GraphAddKernelNode(&nodes[k], graph, after.data(),
                                         after.size(), &node),
              "node of a graph"));
  }
  GraphExecHandle exec = nullptr;
  OCANNL_RETURN_IF_ERROR(
      Check(driver_.GraphInstantiate(&exec, graph, 0), "graph"));
  return std::make_unique<const Graph>(this, exec);
}

absl::Status Gpu::Launch(const Graph& graph) const {
  OCANNL_RETURN_IF_ERROR(Enter());
  return Check(driver_.GraphLaunch(graph.handle_, CurrentQueue().handle_),
               "launch of a graph");
}

absl::Status Gpu::status() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

void Gpu::Note(const absl::Status& error) const {
  std::lock_guard<std::mutex> lock(mutex_);
  status_.Update(error);
}

absl::Status Gpu::Finish() const {
  return Check(driver_.StreamSynchronize(CurrentQueue().handle_), "a kernel");
}

absl::Status Gpu::Synchronize() const {
  OCANNL_RETURN_IF_ERROR(Enter());
  return Check(driver_.CtxSynchronize(), "a kernel");
}

}  // namespace ocannl::cuda
