// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/background_thread.h"

#include <system_error>
#include <utility>

#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/system/trace_events.h"

namespace ocannl {

BackgroundThread::~BackgroundThread() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stops_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void BackgroundThread::Do(std::function<void()> work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back(std::move(work));
    changed_.notify_one();
    if (thread_.joinable()) return;
    try {
      thread_ = std::thread([this] { Serve(); });
      return;
    } catch (const std::system_error&) {
      work = std::move(queue_.back());
      queue_.pop_back();
    }
  }
  work();
}

void BackgroundThread::Serve() {
  NameThread("compiler");
  // A new thread starts with the modes of the thread that made it.
  DefaultFloatEnvironment guard;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stops_ || !queue_.empty(); });
    if (stops_) return;
    std::function<void()> work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

}  // namespace ocannl
