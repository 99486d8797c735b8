// SPDX-License-Identifier: Apache-2.0
//
// BackgroundThread: a FIFO work queue with one worker thread.
//
//   BackgroundThread thread;
//   thread.Do([code] { Compile(*code); });
#ifndef OCANNL_CORE_TIERING_BACKGROUND_THREAD_H_
#define OCANNL_CORE_TIERING_BACKGROUND_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ocannl {

// Thread-safe. The thread starts with the first piece of work.
class BackgroundThread {
 public:
  BackgroundThread() = default;
  // Returns when the work that has begun is done; drops the rest.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;

  // Where the system has no thread, the caller does it at once.
  void Do(std::function<void()> work);

 private:
  void Serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace ocannl

#endif  // OCANNL_CORE_TIERING_BACKGROUND_THREAD_H_
