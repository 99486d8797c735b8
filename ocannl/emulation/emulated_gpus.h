// SPDX-License-Identifier: Apache-2.0
//
// Gpus: what emulated GPUs hold, and the functions of the driver that use it.
//
//   driver.EventCreate = MayFail([](Gpus& gpus, EventHandle* event, unsigned) {
//     return gpus.Register(new Event(), event);
//   });
#ifndef OCANNL_EMULATION_EMULATED_GPUS_H_
#define OCANNL_EMULATION_EMULATED_GPUS_H_

#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <type_traits>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/cuda/driver.h"
#include "ocannl/emulation/emulated_streams.h"
#include "ocannl/emulation/guarded_memory.h"

namespace ocannl::emulation {

inline constexpr cuda::Result kInvalidValue = 1;  // CUDA_ERROR_INVALID_VALUE
inline constexpr cuda::Result kInvalidHandle = 400;
inline constexpr cuda::Result kUnknown = 999;  // CUDA_ERROR_UNKNOWN

struct Gpus {
  // Of the calling thread.
  static inline thread_local EmulatedStreams::Context* context = nullptr;

  std::mutex mutex;  // guards the rest
  int calls = 0;
  int failing = 0;  // the number of the call that is to fail
  EmulatedStreams streams{mutex};
  std::map<char*, GuardedMemory> memory;
  std::set<const void*> objects;  // all others
  std::mt19937 random{1};

  EmulatedStreams::Stream& StreamOf(cuda::StreamHandle handle) {
    if (handle == nullptr) return context->legacy;
    auto* const stream = reinterpret_cast<EmulatedStreams::Stream*>(handle);
    CHECK(context->others.contains(stream)) << "of another context";
    return *stream;
  }
  void Give(cuda::StreamHandle handle, std::function<void()> run,
            std::function<bool()> is_ready = nullptr) {
    streams.Give(*context, StreamOf(handle), std::move(run),
                 std::move(is_ready));
  }

  // A handle of CUDA for an object of ours that is new, or was.
  template <class Handle, class Object>
  cuda::Result Register(Object* object, Handle* handle) {
    objects.insert(object);
    *handle = reinterpret_cast<Handle>(object);
    return cuda::kSuccess;
  }
  template <class Object, class Handle>
  cuda::Result Delete(Handle handle) {
    if (objects.erase(handle) == 0) return kInvalidHandle;
    delete reinterpret_cast<Object*>(handle);
    return cuda::kSuccess;
  }
};

// Those of this process.
Gpus& TheGpus();

template <class Lambda, bool kMayFail, class Result, class... Args>
auto Holding(Result (Lambda::*)(Gpus&, Args...) const) {
  return +[](Args... args) -> cuda::Result {
    Gpus& gpus = TheGpus();
    std::lock_guard<std::mutex> lock(gpus.mutex);
    if (kMayFail && ++gpus.calls == gpus.failing) return kUnknown;
    if constexpr (std::is_void_v<Result>) {
      Lambda()(gpus, args...);
      return cuda::kSuccess;
    } else {
      return Lambda()(gpus, args...);
    }
  };
}

// A function of the driver that holds the GPUs and does what the lambda says,
// which captures nothing, unless it is the call that is to fail. It is a
// success if the lambda has no result.
template <class Lambda>
auto MayFail(Lambda) {
  return Holding<Lambda, /*kMayFail=*/true>(&Lambda::operator());
}
// One that gives something back, and never fails.
template <class Lambda>
auto Releases(Lambda) {
  return Holding<Lambda, /*kMayFail=*/false>(&Lambda::operator());
}

// Sets the functions for streams and events; for memory and copies; for
// modules, kernels and graphs of them.
void SetStreams(cuda::DriverFunctions& driver);
void SetMemory(cuda::DriverFunctions& driver);
void SetKernels(cuda::DriverFunctions& driver);

}  // namespace ocannl::emulation

#endif  // OCANNL_EMULATION_EMULATED_GPUS_H_
