// SPDX-License-Identifier: Apache-2.0
#include "python/native/interruptible.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/tiering/background_thread.h"

namespace py = pybind11;

namespace ocannl::python {
namespace {

// Signals are looked for so often.
constexpr std::chrono::milliseconds kPeriod{50};

class Job {
 public:
  Job(std::shared_ptr<const Workplace> place,
      std::function<absl::Status()> work)
      : place_(std::move(place)), work_(std::move(work)) {}

  // Of the thread that does it.
  void Do() {
    absl::Status status;
    std::exception_ptr thrown;
    {
      const std::lock_guard working(place_->working);
      const CancellationScope scope(&is_cancelled_);
      try {
        status = is_cancelled_ ? CheckNotCancelled() : work_();
      } catch (...) {
        thrown = std::current_exception();
      }
    }
    const std::lock_guard lock(mutex_);
    status_ = std::move(status);
    thrown_ = std::move(thrown);
    is_done_ = true;
    changed_.notify_all();
  }

  void Cancel() { is_cancelled_ = true; }

  // Whether it is done, within so long.
  bool Wait(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return is_done_; });
  }

  // After that, with Python's lock: what the work owns may be Python's.
  absl::Status Finish() {
    work_ = nullptr;
    place_ = nullptr;
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
    return std::move(status_);
  }

 private:
  std::shared_ptr<const Workplace> place_;
  std::function<absl::Status()> work_;
  std::atomic<bool> is_cancelled_ = false;
  std::mutex mutex_;  // guards the rest
  std::condition_variable changed_;
  bool is_done_ = false;
  absl::Status status_;
  std::exception_ptr thrown_;
};

// The threads that do jobs for the main thread. It may need several: what a
// handler of a signal does, and what comes after a cancelled job, are jobs too.
// They are kept, for each has memory for temps. Python's lock guards them.
class Helpers {
 public:
  // Of this process: a fork has no threads.
  static Helpers& OfProcess() {
    static auto* helpers = new Helpers;
    if (helpers->process_ != getpid()) helpers = new Helpers;
    return *helpers;
  }

  BackgroundThread* Take() {
    FinishCancelled();
    if (idle_.empty()) return new BackgroundThread;
    BackgroundThread* const thread = idle_.back();
    idle_.pop_back();
    return thread;
  }
  void Return(BackgroundThread* thread) { idle_.push_back(thread); }

  void AddCancelled(std::shared_ptr<Job> job, BackgroundThread* thread) {
    cancelled_.emplace_back(std::move(job), thread);
  }

 private:
  void FinishCancelled() {
    // What they own may call Python, and so this again.
    std::vector<std::pair<std::shared_ptr<Job>, BackgroundThread*>> left;
    cancelled_.swap(left);
    for (auto& [job, thread] : left) {
      if (!job->Wait(std::chrono::milliseconds(0))) {
        AddCancelled(std::move(job), thread);
        continue;
      }
      Return(thread);
      try {
        job->Finish().IgnoreError();
      } catch (const std::exception&) {  // of a job that nobody waits for
      }
    }
  }

  const pid_t process_ = getpid();
  std::vector<BackgroundThread*> idle_;
  std::vector<std::pair<std::shared_ptr<Job>, BackgroundThread*>> cancelled_;
};

}  // namespace

absl::Status Interruptible(std::shared_ptr<const Workplace> place,
                           std::function<absl::Status()> work) {
  if (gettid() != getpid()) {  // Python has signals in the main thread only
    const Unlocked unlocked(*place);
    return work();
  }
  const auto job = std::make_shared<Job>(std::move(place), std::move(work));
  BackgroundThread* const thread = Helpers::OfProcess().Take();
  thread->Do([job] { job->Do(); });
  while (true) {
    bool is_done;
    {
      const py::gil_scoped_release unlocked;
      is_done = job->Wait(kPeriod);
    }
    if (is_done) break;
    if (PyErr_CheckSignals() == 0) continue;
    job->Cancel();
    Helpers::OfProcess().AddCancelled(job, thread);
    throw py::error_already_set();
  }
  Helpers::OfProcess().Return(thread);
  return job->Finish();
}

}  // namespace ocannl::python
