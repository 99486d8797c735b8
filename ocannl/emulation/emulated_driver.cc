// SPDX-License-Identifier: Apache-2.0
#include "ocannl/emulation/emulated_driver.h"

#include <cstddef>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/functional/function_ref.h"
#include "ocannl/core/base/check.h"
#include "ocannl/emulation/emulated_gpus.h"

namespace ocannl::emulation {
namespace {

void SetDevices(cuda::DriverFunctions& driver) {
  driver.Init = MayFail([](Gpus&, unsigned) {});
  driver.GetErrorName = [](cuda::Result, const char** name) {
    *name = "CUDA_ERROR_EMULATED";
    return cuda::kSuccess;
  };
  driver.GetErrorString = [](cuda::Result, const char** text) {
    *text = "emulated";
    return cuda::kSuccess;
  };
  driver.DeviceGetCount = MayFail([](Gpus&, int* count) { *count = 2; });
  driver.DeviceGet =
      MayFail([](Gpus&, int* device, int ordinal) { *device = ordinal; });
  driver.DeviceGetName = MayFail([](Gpus&, char* name, int size, int) {
    std::strncpy(name, "emulated", size);
  });
  driver.DeviceGetUuid = MayFail([](Gpus&, cuda::Uuid* uuid, int device) {
    uuid->bytes = {static_cast<char>(device)};
  });
  driver.DeviceGetAttribute =
      MayFail([](Gpus&, int* value, int attribute, int) {
        *value = attribute == cuda::kComputeCapabilityMajor         ? 9
                 : attribute == cuda::kMaxSharedMemoryPerBlockOptin ? 227 << 10
                 : attribute == cuda::kMultiprocessorCount          ? 132
                                                                    : 0;
      });
}

void SetContexts(cuda::DriverFunctions& driver) {
  driver.DevicePrimaryCtxRetain =
      MayFail([](Gpus& gpus, cuda::ContextHandle* context, int device) {
        EmulatedStreams::Context& made = gpus.streams.contexts()[device];
        ++made.retained;
        *context = reinterpret_cast<cuda::ContextHandle>(&made);
      });
  driver.DevicePrimaryCtxRelease = Releases([](Gpus& gpus, int device) {
    --gpus.streams.contexts()[device].retained;
  });
  driver.CtxSetCurrent = MayFail([](Gpus& gpus, cuda::ContextHandle context) {
    gpus.context = reinterpret_cast<EmulatedStreams::Context*>(context);
    CHECK_GT(gpus.context->retained, 0);
  });
}

}  // namespace

Gpus& TheGpus() {
  static auto* gpus = new Gpus();
  return *gpus;
}

cuda::DriverFunctions EmulatedDriver() {
  cuda::DriverFunctions driver;
  SetDevices(driver);
  SetContexts(driver);
  SetStreams(driver);
  SetMemory(driver);
  SetKernels(driver);
  return driver;
}

void GiveStream(cuda::StreamHandle stream, std::function<void()> run,
                std::function<bool()> is_ready) {
  std::lock_guard<std::mutex> lock(TheGpus().mutex);
  TheGpus().Give(stream, std::move(run), std::move(is_ready));
}

void ChangeWhatIsReady(absl::FunctionRef<void()> change) {
  std::lock_guard<std::mutex> lock(TheGpus().mutex);
  change();
  TheGpus().streams.NotifyAll();
}

int FailCall(int n) {
  std::lock_guard<std::mutex> lock(TheGpus().mutex);
  TheGpus().failing = n;
  return std::exchange(TheGpus().calls, 0);
}

int NumDriverObjects() {
  Gpus& gpus = TheGpus();
  std::lock_guard<std::mutex> lock(gpus.mutex);
  size_t count = gpus.memory.size() + gpus.objects.size();
  for (const EmulatedStreams::Context& context : gpus.streams.contexts()) {
    count += context.retained;
  }
  return static_cast<int>(count);
}

}  // namespace ocannl::emulation
