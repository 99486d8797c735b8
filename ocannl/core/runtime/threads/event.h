// SPDX-License-Identifier: Apache-2.0
//
// Event: a point in the work of a stream. Work is first submitted, which is
// all there is to do on the host; a device may still be at it then.
//
//   const Event event = worker.Record();
//   event.Wait();
#ifndef OCANNL_CORE_RUNTIME_THREADS_EVENT_H_
#define OCANNL_CORE_RUNTIME_THREADS_EVENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace ocannl {

// A point in the work of a device. Thread-safe.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  virtual bool IsDone() const = 0;
  // Returns when it is done, or the device failed.
  virtual void Wait() const = 0;
};

// Copies stand for the same point. Thread-safe.
class Event {
 public:
  // One that was.
  Event() = default;
  // On a device, if not null.
  explicit Event(std::shared_ptr<const DeviceEvent> on_device)
      : state_(on_device == nullptr ? nullptr : std::make_shared<State>()) {
    if (state_ == nullptr) return;
    state_->on_device = std::move(on_device);
    state_->is_submitted = 1;
  }

  friend bool operator==(const Event&, const Event&) = default;

  bool IsDone() const {
    return state_ == nullptr ||
           (state_->is_submitted != 0 &&
            (state_->on_device == nullptr || state_->on_device->IsDone()));
  }

  // Returns when it is done.
  void Wait() const;

  // Returns when the work before it was submitted: what is left to wait for;
  // null: nothing.
  std::shared_ptr<const DeviceEvent> WaitUntilSubmitted() const;

 private:
  friend class Worker;

  struct State {
    std::atomic<uint32_t> is_submitted = 0;        // 0 or 1
    std::shared_ptr<const DeviceEvent> on_device;  // before it is submitted
  };
  std::shared_ptr<State> state_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_THREADS_EVENT_H_
