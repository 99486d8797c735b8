// SPDX-License-Identifier: Apache-2.0
//
// DeviceQueue: a queue of a device (a stream of CUDA): what it is given is done
// in order, beside what other queues of the device are given. Of a host, where
// runs are done when they return, there are none.
//
//   const DeviceQueue::Scope scope(queue.get());
//   code.Run(buffers, {});             // goes to the queue
//   other_queue->WaitFor(*queue->Record());
#ifndef OCANNL_CORE_RUNTIME_DEVICE_QUEUE_H_
#define OCANNL_CORE_RUNTIME_DEVICE_QUEUE_H_

#include <memory>
#include <utility>

#include "ocannl/core/runtime/threads/event.h"

namespace ocannl {

// For one thread at a time. Errors are those of Backend::RunStatus.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;

  // Is done when all that the queue was given so far is; null: the device
  // failed.
  virtual std::shared_ptr<const DeviceEvent> Record() = 0;

  // What the queue is given from now on is done after `event`, of any device.
  virtual void WaitFor(const DeviceEvent& event) = 0;

  // What the thread runs and copies on the device meanwhile goes to that queue.
  // Null: as before.
  class Scope {
   public:
    explicit Scope(DeviceQueue* queue) : outer_(current_) {
      if (queue != nullptr) current_ = queue;
    }
    ~Scope() {
      if (current_ != outer_) current_ = outer_;
    }
    Scope(const Scope&) = delete;

   private:
    DeviceQueue* const outer_;
  };

  // Of the thread. Null: what it runs and copies is done after all that any
  // queue was given before, and before all that comes (CUDA's legacy stream).
  static DeviceQueue* Current() { return current_; }

 private:
  static inline constinit thread_local DeviceQueue* current_ = nullptr;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_DEVICE_QUEUE_H_
