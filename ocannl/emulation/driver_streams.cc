// SPDX-License-Identifier: Apache-2.0
#include "ocannl/emulation/emulated_gpus.h"

namespace ocannl::emulation {
namespace {

constexpr cuda::Result kNotReady = 600;  // CUDA_ERROR_NOT_READY

struct Event {
  EmulatedStreams::WorkPtr work = nullptr;  // null: it was not recorded
};

EmulatedStreams::WorkPtr& WorkOf(cuda::EventHandle handle) {
  return reinterpret_cast<Event*>(handle)->work;
}

void SetEvents(cuda::DriverFunctions& driver) {
  driver.StreamWaitEvent = MayFail([](Gpus& gpus, cuda::StreamHandle stream,
                                      cuda::EventHandle handle, unsigned) {
    const auto& work = WorkOf(handle);
    if (work != nullptr) gpus.StreamOf(stream).awaited.push_back(work);
  });
  driver.EventCreate =
      MayFail([](Gpus& gpus, cuda::EventHandle* handle, unsigned) {
        return gpus.Register(new Event(), handle);
      });
  driver.EventDestroy = Releases([](Gpus& gpus, cuda::EventHandle handle) {
    return gpus.Delete<Event>(handle);
  });
  driver.EventRecord = MayFail(
      [](Gpus& gpus, cuda::EventHandle handle, cuda::StreamHandle stream) {
        gpus.Give(stream, [] {});
        WorkOf(handle) = gpus.StreamOf(stream).last;
      });
  driver.EventQuery = MayFail([](Gpus&, cuda::EventHandle handle) {
    const auto& work = WorkOf(handle);
    return work == nullptr || work->is_done ? cuda::kSuccess : kNotReady;
  });
  driver.EventSynchronize = MayFail([](Gpus& gpus, cuda::EventHandle handle) {
    gpus.streams.RunUntil(WorkOf(handle));
  });
}

}  // namespace

void SetStreams(cuda::DriverFunctions& driver) {
  driver.CtxSynchronize =
      MayFail([](Gpus& gpus) { gpus.streams.RunAll(*gpus.context); });
  driver.StreamCreate =
      MayFail([](Gpus& gpus, cuda::StreamHandle* handle, unsigned flags) {
        if (flags != cuda::kBlockingStream) return kInvalidValue;
        auto* stream = new EmulatedStreams::Stream();
        gpus.context->others.insert(stream);
        return gpus.Register(stream, handle);
      });
  driver.StreamDestroy = Releases([](Gpus& gpus, cuda::StreamHandle handle) {
    gpus.streams.Remove(*reinterpret_cast<EmulatedStreams::Stream*>(handle));
    return gpus.Delete<EmulatedStreams::Stream>(handle);
  });
  driver.StreamSynchronize = MayFail([](Gpus& gpus, cuda::StreamHandle handle) {
    gpus.streams.RunUntil(gpus.StreamOf(handle).last);
  });
  SetEvents(driver);
}

}  // namespace ocannl::emulation
