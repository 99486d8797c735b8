// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/emulation/emulated_driver.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/fuzz/emulation/emulated_kernels.h"
#include "ocannl/fuzz/emulation/emulated_streams.h"
#include "ocannl/fuzz/emulation/guarded_memory.h"

namespace ocannl::fuzz {
namespace {

using cuda::DevicePointer;
using cuda::Result;

constexpr Result kInvalidValue = 1;     // CUDA_ERROR_INVALID_VALUE
constexpr Result kNoBinary = 209;       // CUDA_ERROR_NO_BINARY_FOR_GPU
constexpr Result kInvalidHandle = 400;  // CUDA_ERROR_INVALID_HANDLE
constexpr Result kNotFound = 500;       // CUDA_ERROR_NOT_FOUND
constexpr Result kNotReady = 600;       // CUDA_ERROR_NOT_READY
constexpr Result kUnknown = 999;        // CUDA_ERROR_UNKNOWN

struct Module {
  Library code;
  std::vector<std::unique_ptr<Function>> functions;
};

using Calls = std::vector<Call>;

using Stream = EmulatedStreams::Stream;
using Context = EmulatedStreams::Context;

struct Event {
  EmulatedStreams::WorkPtr work = nullptr;  // null: it was not recorded
};

// Of the calling thread.
thread_local Context* current_context = nullptr;

struct Driver {
  std::mutex mutex;  // guards the rest
  int calls = 0;
  int failing = 0;
  EmulatedStreams streams;
  std::map<char*, GuardedMemory> memory;
  std::set<const void*> objects;  // all others
  std::mt19937 random{1};

  // Whether this call is to fail.
  bool Fails() { return ++calls == failing; }

  Stream& StreamOf(cuda::StreamHandle handle) {
    if (handle == nullptr) return current_context->legacy;
    auto* const stream = reinterpret_cast<Stream*>(handle);
    CHECK(current_context->others.contains(stream)) << "of another context";
    return *stream;
  }
  void Give(cuda::StreamHandle handle, std::function<void()> run) {
    streams.Give(*current_context, StreamOf(handle), std::move(run));
  }
};

Driver& TheDriver() {
  static auto* driver = new Driver();
  return *driver;
}

// A handle of CUDA for an object of ours that is new, or was.
template <class Handle, class Object>
void Register(Object* object, Handle* handle) {
  TheDriver().objects.insert(object);
  *handle = reinterpret_cast<Handle>(object);
}
template <class Object, class Handle>
Result Delete(Handle handle) {
  if (TheDriver().objects.erase(handle) == 0) return kInvalidHandle;
  delete reinterpret_cast<Object*>(handle);
  return cuda::kSuccess;
}

Call CallOf(cuda::FunctionHandle function, unsigned blocks, unsigned threads,
            void** extra) {
  const size_t bytes = *static_cast<const size_t*>(extra[3]);
  const auto* arguments = static_cast<const long*>(extra[1]);
  return {*reinterpret_cast<const Function*>(function),
          blocks,
          threads,
          {arguments, arguments + bytes / sizeof(long)},
          {}};
}

// Each call of the driver holds its mutex, and may fail, unless it gives
// something back.
#define OCANNL_RELEASE std::unique_lock<std::mutex> lock(TheDriver().mutex)
#define OCANNL_CALL                                     \
  std::unique_lock<std::mutex> lock(TheDriver().mutex); \
  if (TheDriver().Fails()) return kUnknown

void SetDevice(cuda::DriverFunctions& driver) {
  driver.Init = [](unsigned) -> Result {
    OCANNL_CALL;
    return cuda::kSuccess;
  };
  driver.GetErrorName = [](Result, const char** name) -> Result {
    *name = "CUDA_ERROR_EMULATED";
    return cuda::kSuccess;
  };
  driver.GetErrorString = [](Result, const char** text) -> Result {
    *text = "emulated";
    return cuda::kSuccess;
  };
  driver.DeviceGetCount = [](int* count) -> Result {
    OCANNL_CALL;
    *count = 2;
    return cuda::kSuccess;
  };
  driver.DeviceGet = [](int* device, int ordinal) -> Result {
    OCANNL_CALL;
    *device = ordinal;
    return cuda::kSuccess;
  };
  driver.DeviceGetName = [](char* name, int size, int) -> Result {
    OCANNL_CALL;
    std::strncpy(name, "emulated", size);
    return cuda::kSuccess;
  };
  driver.DeviceGetUuid = [](cuda::Uuid* uuid, int device) -> Result {
    OCANNL_CALL;
    uuid->bytes = {static_cast<char>(device)};
    return cuda::kSuccess;
  };
  driver.DeviceGetAttribute = [](int* value, int attribute, int) -> Result {
    OCANNL_CALL;
    *value = attribute == cuda::kComputeCapabilityMajor         ? 9
             : attribute == cuda::kMaxSharedMemoryPerBlockOptin ? 227 << 10
             : attribute == cuda::kMultiprocessorCount          ? 132
                                                                : 0;
    return cuda::kSuccess;
  };
}

void SetContexts(cuda::DriverFunctions& driver) {
  driver.DevicePrimaryCtxRetain = [](cuda::ContextHandle* context,
                                     int device) -> Result {
    OCANNL_CALL;
    Context& made = TheDriver().streams.contexts()[device];
    ++made.retained;
    *context = reinterpret_cast<cuda::ContextHandle>(&made);
    return cuda::kSuccess;
  };
  driver.DevicePrimaryCtxRelease = [](int device) -> Result {
    OCANNL_RELEASE;
    --TheDriver().streams.contexts()[device].retained;
    return cuda::kSuccess;
  };
  driver.CtxSetCurrent = [](cuda::ContextHandle context) -> Result {
    OCANNL_CALL;
    current_context = reinterpret_cast<Context*>(context);
    CHECK_GT(current_context->retained, 0);
    return cuda::kSuccess;
  };
}

void SetStreams(cuda::DriverFunctions& driver) {
  driver.CtxSynchronize = []() -> Result {
    OCANNL_CALL;
    TheDriver().streams.RunAll(*current_context, lock);
    return cuda::kSuccess;
  };
  driver.StreamCreate = [](cuda::StreamHandle* handle,
                           unsigned flags) -> Result {
    OCANNL_CALL;
    if (flags != cuda::kBlockingStream) return kInvalidValue;
    auto* stream = new Stream();
    current_context->others.insert(stream);
    Register(stream, handle);
    return cuda::kSuccess;
  };
  driver.StreamDestroy = [](cuda::StreamHandle handle) -> Result {
    OCANNL_RELEASE;
    auto* stream = reinterpret_cast<Stream*>(handle);
    TheDriver().streams.Remove(*stream, lock);
    return Delete<Stream>(handle);
  };
  driver.StreamSynchronize = [](cuda::StreamHandle handle) -> Result {
    OCANNL_CALL;
    TheDriver().streams.RunUntil(TheDriver().StreamOf(handle).last, lock);
    return cuda::kSuccess;
  };
}

void SetEvents(cuda::DriverFunctions& driver) {
  driver.StreamWaitEvent = [](cuda::StreamHandle stream,
                              cuda::EventHandle handle, unsigned) -> Result {
    OCANNL_CALL;
    const auto& work = reinterpret_cast<const Event*>(handle)->work;
    if (work != nullptr) TheDriver().StreamOf(stream).awaited.push_back(work);
    return cuda::kSuccess;
  };
  driver.EventCreate = [](cuda::EventHandle* handle, unsigned) -> Result {
    OCANNL_CALL;
    Register(new Event(), handle);
    return cuda::kSuccess;
  };
  driver.EventDestroy = [](cuda::EventHandle handle) -> Result {
    OCANNL_RELEASE;
    return Delete<Event>(handle);
  };
  driver.EventRecord = [](cuda::EventHandle handle,
                          cuda::StreamHandle stream) -> Result {
    OCANNL_CALL;
    TheDriver().Give(stream, [] {});
    reinterpret_cast<Event*>(handle)->work = TheDriver().StreamOf(stream).last;
    return cuda::kSuccess;
  };
  driver.EventQuery = [](cuda::EventHandle handle) -> Result {
    OCANNL_CALL;
    const auto& work = reinterpret_cast<const Event*>(handle)->work;
    return work == nullptr || work->is_done ? cuda::kSuccess : kNotReady;
  };
  driver.EventSynchronize = [](cuda::EventHandle handle) -> Result {
    OCANNL_CALL;
    TheDriver().streams.RunUntil(reinterpret_cast<const Event*>(handle)->work,
                                 lock);
    return cuda::kSuccess;
  };
}

void SetMemory(cuda::DriverFunctions& driver) {
  driver.MemAlloc = [](DevicePointer* address, size_t bytes) -> Result {
    OCANNL_CALL;
    const GuardedMemory mapping(bytes);
    char* const memory = mapping.Map();
    if (memory == nullptr) return cuda::kOutOfMemory;
    std::memset(memory, 0xff, mapping.bytes);
    TheDriver().memory.emplace(memory, mapping);
    *address = reinterpret_cast<DevicePointer>(memory) ^ kDeviceBit;
    return cuda::kSuccess;
  };
  driver.MemFree = [](DevicePointer address) -> Result {
    OCANNL_RELEASE;
    auto found = TheDriver().memory.find(HostAddress(address));
    if (found == TheDriver().memory.end()) return kInvalidValue;
    TheDriver().streams.RunAll(*current_context, lock);
    found->second.Unmap(found->first);
    TheDriver().memory.erase(found);
    return cuda::kSuccess;
  };
}

void SetCopies(cuda::DriverFunctions& driver) {
  driver.MemsetD8Async = [](DevicePointer to, unsigned char value, size_t bytes,
                            cuda::StreamHandle stream) -> Result {
    OCANNL_CALL;
    TheDriver().Give(stream,
                     [=] { std::memset(HostAddress(to), value, bytes); });
    return cuda::kSuccess;
  };
  driver.MemsetD32Async = [](DevicePointer to, unsigned value, size_t words,
                             cuda::StreamHandle stream) -> Result {
    OCANNL_CALL;
    TheDriver().Give(stream, [=] {
      for (size_t k = 0; k < words; ++k) {
        std::memcpy(HostAddress(to) + 4 * k, &value, sizeof(value));
      }
    });
    return cuda::kSuccess;
  };
  driver.MemcpyHtoDAsync = [](DevicePointer to, const void* from, size_t bytes,
                              cuda::StreamHandle stream) -> Result {
    OCANNL_CALL;
    // Memory that is not page-locked is copied before the call returns.
    const auto* first = static_cast<const char*>(from);
    TheDriver().Give(stream,
                     [to, copy = std::vector<char>(first, first + bytes)] {
                       std::memcpy(HostAddress(to), copy.data(), copy.size());
                     });
    return cuda::kSuccess;
  };
  driver.MemcpyDtoHAsync = [](void* to, DevicePointer from, size_t bytes,
                              cuda::StreamHandle stream) -> Result {
    OCANNL_CALL;
    TheDriver().Give(stream,
                     [=] { std::memcpy(to, HostAddress(from), bytes); });
    // To memory that is not page-locked, it is done when the call returns.
    TheDriver().streams.RunUntil(TheDriver().StreamOf(stream).last, lock);
    return cuda::kSuccess;
  };
  driver.MemcpyDtoDAsync = [](DevicePointer to, DevicePointer from,
                              size_t bytes,
                              cuda::StreamHandle stream) -> Result {
    OCANNL_CALL;
    TheDriver().Give(stream, [=] {
      std::memcpy(HostAddress(to), HostAddress(from), bytes);
    });
    return cuda::kSuccess;
  };
}

void SetKernels(cuda::DriverFunctions& driver) {
  driver.ModuleLoadData = [](cuda::ModuleHandle* handle,
                             const void* image) -> Result {
    OCANNL_CALL;
    absl::StatusOr<Library> code =
        CompileKernels(static_cast<const char*>(image));
    if (!code.ok()) return kNoBinary;
    Register(new Module{*std::move(code), {}}, handle);
    return cuda::kSuccess;
  };
  driver.ModuleUnload = [](cuda::ModuleHandle handle) -> Result {
    OCANNL_RELEASE;
    return Delete<Module>(handle);
  };
  driver.ModuleGetFunction = [](cuda::FunctionHandle* function,
                                cuda::ModuleHandle handle,
                                const char* name) -> Result {
    OCANNL_CALL;
    auto* module = reinterpret_cast<Module*>(handle);
    auto* kernel = module->code->Find<void()>(name);
    if (kernel == nullptr) return kNotFound;
    module->functions.push_back(std::make_unique<Function>(
        Function{module->code, kernel, std::make_shared<unsigned>(0)}));
    *function =
        reinterpret_cast<cuda::FunctionHandle>(module->functions.back().get());
    return cuda::kSuccess;
  };
  driver.FuncSetAttribute = [](cuda::FunctionHandle, int, int) -> Result {
    OCANNL_CALL;
    return cuda::kSuccess;
  };
  driver.LaunchKernel = [](cuda::FunctionHandle function, unsigned blocks,
                           unsigned, unsigned, unsigned threads, unsigned,
                           unsigned, unsigned, cuda::StreamHandle stream,
                           void**, void** extra) -> Result {
    OCANNL_CALL;
    TheDriver().Give(stream, [call = CallOf(function, blocks, threads, extra)] {
      call.Run();
    });
    return cuda::kSuccess;
  };
}

void SetGraphs(cuda::DriverFunctions& driver) {
  driver.GraphCreate = [](cuda::GraphHandle* handle, unsigned) -> Result {
    OCANNL_CALL;
    Register(new Calls(), handle);
    return cuda::kSuccess;
  };
  driver.GraphDestroy = [](cuda::GraphHandle handle) -> Result {
    OCANNL_RELEASE;
    return Delete<Calls>(handle);
  };
  // A node is its number, from 1 on.
  driver.GraphAddKernelNode =
      [](cuda::NodeHandle* node, cuda::GraphHandle handle,
         const cuda::NodeHandle* after, size_t num_after,
         const cuda::KernelNode* parameters) -> Result {
    OCANNL_CALL;
    auto* graph = reinterpret_cast<Calls*>(handle);
    Call call = CallOf(parameters->function, parameters->grid_x,
                       parameters->block_x, parameters->extra);
    for (size_t k = 0; k < num_after; ++k) {
      call.after.push_back(reinterpret_cast<size_t>(after[k]) - 1);
    }
    graph->push_back(std::move(call));
    *node = reinterpret_cast<cuda::NodeHandle>(graph->size());
    return cuda::kSuccess;
  };
  driver.GraphInstantiate = [](cuda::GraphExecHandle* exec,
                               cuda::GraphHandle handle, uint64_t) -> Result {
    OCANNL_CALL;
    Register(new Calls(*reinterpret_cast<const Calls*>(handle)), exec);
    return cuda::kSuccess;
  };
  driver.GraphExecDestroy = [](cuda::GraphExecHandle handle) -> Result {
    OCANNL_RELEASE;
    return Delete<Calls>(handle);
  };
  driver.GraphLaunch = [](cuda::GraphExecHandle exec,
                          cuda::StreamHandle stream) -> Result {
    OCANNL_CALL;
    TheDriver().Give(stream, [calls = *reinterpret_cast<const Calls*>(exec)] {
      RunGraph(calls, TheDriver().random);
    });
    return cuda::kSuccess;
  };
}

#undef OCANNL_CALL
#undef OCANNL_RELEASE

}  // namespace

cuda::DriverFunctions EmulatedDriver() {
  cuda::DriverFunctions driver;
  SetDevice(driver);
  SetContexts(driver);
  SetStreams(driver);
  SetEvents(driver);
  SetMemory(driver);
  SetCopies(driver);
  SetKernels(driver);
  SetGraphs(driver);
  return driver;
}

void GiveStream(cuda::StreamHandle stream, std::function<void()> run,
                std::function<bool()> is_ready) {
  std::lock_guard<std::mutex> lock(TheDriver().mutex);
  TheDriver().streams.Give(*current_context, TheDriver().StreamOf(stream),
                           std::move(run), std::move(is_ready));
}

void ChangeWhatIsReady(absl::FunctionRef<void()> change) {
  std::lock_guard<std::mutex> lock(TheDriver().mutex);
  change();
  TheDriver().streams.NotifyAll();
}

int FailCall(int n) {
  std::lock_guard<std::mutex> lock(TheDriver().mutex);
  TheDriver().failing = n;
  return std::exchange(TheDriver().calls, 0);
}

int NumDriverObjects() {
  std::lock_guard<std::mutex> lock(TheDriver().mutex);
  size_t count = TheDriver().memory.size() + TheDriver().objects.size();
  for (const Context& context : TheDriver().streams.contexts()) {
    count += context.retained;
  }
  return static_cast<int>(count);
}

}  // namespace ocannl::fuzz
