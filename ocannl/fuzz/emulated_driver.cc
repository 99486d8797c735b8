// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/emulated_driver.h"

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/system/shared_library.h"
#include "ocannl/core/codegen/compile_c.h"
#include "ocannl/core/runtime/device_memory.h"
#include "ocannl/fuzz/emulated_device.h"

namespace ocannl::fuzz {
namespace {

using cuda::DevicePointer;
using cuda::Result;
using Library = std::shared_ptr<const SharedLibrary>;

constexpr Result kInvalidValue = 1;     // CUDA_ERROR_INVALID_VALUE
constexpr Result kNoBinary = 209;       // CUDA_ERROR_NO_BINARY_FOR_GPU
constexpr Result kInvalidHandle = 400;  // CUDA_ERROR_INVALID_HANDLE
constexpr Result kNotFound = 500;       // CUDA_ERROR_NOT_FOUND
constexpr Result kUnknown = 999;        // CUDA_ERROR_UNKNOWN

constexpr size_t kMaxArguments = 512;

// No address of the host has this bit.
constexpr DevicePointer kDeviceBit = DevicePointer{1} << 62;

char* HostAddress(DevicePointer address) {
  return reinterpret_cast<char*>(address ^ kDeviceBit);
}

struct Function {
  Library code;
  void (*kernel)();
  std::shared_ptr<unsigned> runs;
};

struct Call {
  Function function;
  unsigned blocks, threads;
  std::vector<long> arguments;
  std::vector<size_t> after;

  void Run() const {
    std::vector<long> all(kMaxArguments);
    for (size_t k = 0; k < arguments.size(); ++k) {
      all[k] = reinterpret_cast<long>(HostAddress(arguments[k]));
    }
    auto* const launch =
        function.code->Find<void(void (*)(), const long*, unsigned, unsigned,
                                 unsigned, unsigned)>("launch");
    launch(function.kernel, all.data(), static_cast<unsigned>(arguments.size()),
           blocks, threads, (*function.runs)++ % 3);
  }
};

struct Module {
  Library code;
  std::vector<std::unique_ptr<Function>> functions;
};

using Calls = std::vector<Call>;

// Memory that ends at a page that nobody may touch, up to the alignment that
// the engine relies on, and has another such page before it.
struct Mapping {
  explicit Mapping(size_t wanted)
      : bytes((wanted + kAlignment - 1) / kAlignment * kAlignment),
        pages((bytes + kPage - 1) / kPage * kPage) {}

  char* Map() const {
    void* all = mmap(nullptr, pages + 2 * kPage, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) return nullptr;
    char* const first = static_cast<char*>(all) + kPage;
    CHECK_EQ(mprotect(first, pages, PROT_READ | PROT_WRITE), 0);
    return first + pages - bytes;
  }
  void Unmap(char* address) const {
    CHECK_EQ(munmap(address + bytes - pages - kPage, pages + 2 * kPage), 0);
  }

  static constexpr size_t kAlignment = DeviceMemory::kAlignment;
  static constexpr size_t kPage = 4096;
  size_t bytes, pages;
};

struct Driver {
  std::mutex mutex;  // guards the rest
  int calls = 0;
  int failing = 0;
  std::deque<std::function<void()>> work;  // of all streams
  int contexts = 0;
  std::map<char*, Mapping> memory;
  std::set<const void*> objects;  // all others
  std::mt19937 random{1};

  // Whether this call is to fail.
  bool Fails() { return ++calls == failing; }

  void RunAll() {
    for (; !work.empty(); work.pop_front()) work.front()();
  }

  // The calls of a graph in a random order that their dependences allow.
  void RunGraph(const Calls& graph) {
    std::vector<bool> done(graph.size(), false);
    for (size_t rest = graph.size(); rest > 0; --rest) {
      std::vector<size_t> ready;
      for (size_t k = 0; k < graph.size(); ++k) {
        bool waits = done[k];
        for (size_t other : graph[k].after) waits = waits || !done[other];
        if (!waits) ready.push_back(k);
      }
      const size_t next = ready[random() % ready.size()];
      graph[next].Run();
      done[next] = true;
    }
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
  TheDriver().RunAll();
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
#define OCANNL_RELEASE std::lock_guard<std::mutex> lock(TheDriver().mutex)
#define OCANNL_CALL                                    \
  std::lock_guard<std::mutex> lock(TheDriver().mutex); \
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
  driver.DeviceGetAttribute = [](int* value, int attribute, int) -> Result {
    OCANNL_CALL;
    *value = attribute == cuda::kComputeCapabilityMajor         ? 9
             : attribute == cuda::kMaxSharedMemoryPerBlockOptin ? 227 << 10
             : attribute == cuda::kMultiprocessorCount          ? 132
                                                                : 0;
    return cuda::kSuccess;
  };
  driver.DevicePrimaryCtxRetain = [](cuda::ContextHandle* context,
                                     int) -> Result {
    OCANNL_CALL;
    ++TheDriver().contexts;
    *context = reinterpret_cast<cuda::ContextHandle>(&TheDriver());
    return cuda::kSuccess;
  };
  driver.DevicePrimaryCtxRelease = [](int) -> Result {
    OCANNL_RELEASE;
    --TheDriver().contexts;
    return cuda::kSuccess;
  };
  driver.CtxSetCurrent = [](cuda::ContextHandle) -> Result {
    OCANNL_CALL;
    return cuda::kSuccess;
  };
}

void SetMemory(cuda::DriverFunctions& driver) {
  driver.StreamCreate = [](cuda::StreamHandle* stream, unsigned) -> Result {
    OCANNL_CALL;
    Register(new int(0), stream);
    return cuda::kSuccess;
  };
  driver.StreamDestroy = [](cuda::StreamHandle stream) -> Result {
    OCANNL_RELEASE;
    return Delete<int>(stream);
  };
  driver.StreamSynchronize = [](cuda::StreamHandle) -> Result {
    OCANNL_CALL;
    TheDriver().RunAll();
    return cuda::kSuccess;
  };
  driver.MemAlloc = [](DevicePointer* address, size_t bytes) -> Result {
    OCANNL_CALL;
    const Mapping mapping(bytes);
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
    TheDriver().RunAll();
    found->second.Unmap(found->first);
    TheDriver().memory.erase(found);
    return cuda::kSuccess;
  };
}

void SetCopies(cuda::DriverFunctions& driver) {
  driver.MemsetD8Async = [](DevicePointer to, unsigned char value, size_t bytes,
                            cuda::StreamHandle) -> Result {
    OCANNL_CALL;
    TheDriver().work.push_back(
        [=] { std::memset(HostAddress(to), value, bytes); });
    return cuda::kSuccess;
  };
  driver.MemsetD32Async = [](DevicePointer to, unsigned value, size_t words,
                             cuda::StreamHandle) -> Result {
    OCANNL_CALL;
    TheDriver().work.push_back([=] {
      for (size_t k = 0; k < words; ++k) {
        std::memcpy(HostAddress(to) + 4 * k, &value, sizeof(value));
      }
    });
    return cuda::kSuccess;
  };
  driver.MemcpyHtoDAsync = [](DevicePointer to, const void* from, size_t bytes,
                              cuda::StreamHandle) -> Result {
    OCANNL_CALL;
    // Memory that is not page-locked is copied before the call returns.
    const auto* first = static_cast<const char*>(from);
    TheDriver().work.push_back(
        [to, copy = std::vector<char>(first, first + bytes)] {
          std::memcpy(HostAddress(to), copy.data(), copy.size());
        });
    return cuda::kSuccess;
  };
  driver.MemcpyDtoHAsync = [](void* to, DevicePointer from, size_t bytes,
                              cuda::StreamHandle) -> Result {
    OCANNL_CALL;
    // To memory that is not page-locked, it is done when the call returns.
    TheDriver().RunAll();
    std::memcpy(to, HostAddress(from), bytes);
    return cuda::kSuccess;
  };
  driver.MemcpyDtoDAsync = [](DevicePointer to, DevicePointer from,
                              size_t bytes, cuda::StreamHandle) -> Result {
    OCANNL_CALL;
    TheDriver().work.push_back(
        [=] { std::memcpy(HostAddress(to), HostAddress(from), bytes); });
    return cuda::kSuccess;
  };
}

// A text that comes again is not compiled again.
absl::StatusOr<Library> Compiled(const std::string& text) {
  static auto* compiled = new std::map<std::string, Library>();
  Library& library = (*compiled)[text];
  if (library != nullptr) return library;
  auto code = CompileC(absl::StrCat(kEmulatedDevice, text),
                       {"-O1", "-march=native", "-ffp-contract=off",
                        "-fno-strict-aliasing", "-lstdc++", "-lm"},
                       "c++");
  if (code.ok()) library = *code;
  return code;
}

void SetKernels(cuda::DriverFunctions& driver) {
  driver.ModuleLoadData = [](cuda::ModuleHandle* handle,
                             const void* image) -> Result {
    OCANNL_CALL;
    absl::StatusOr<Library> code = Compiled(static_cast<const char*>(image));
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
                           unsigned, unsigned, cuda::StreamHandle, void**,
                           void** extra) -> Result {
    OCANNL_CALL;
    TheDriver().work.push_back(
        [call = CallOf(function, blocks, threads, extra)] { call.Run(); });
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
                          cuda::StreamHandle) -> Result {
    OCANNL_CALL;
    TheDriver().work.push_back([calls = *reinterpret_cast<const Calls*>(exec)] {
      TheDriver().RunGraph(calls);
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
  SetMemory(driver);
  SetCopies(driver);
  SetKernels(driver);
  SetGraphs(driver);
  return driver;
}

int FailCall(int n) {
  std::lock_guard<std::mutex> lock(TheDriver().mutex);
  TheDriver().failing = n;
  return std::exchange(TheDriver().calls, 0);
}

int NumDriverObjects() {
  std::lock_guard<std::mutex> lock(TheDriver().mutex);
  return TheDriver().contexts + static_cast<int>(TheDriver().memory.size() +
                                                 TheDriver().objects.size());
}

}  // namespace ocannl::fuzz
