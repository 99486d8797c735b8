// SPDX-License-Identifier: Apache-2.0
//
// Worker: a thread with a queue of commands, which it does in order: a bounded
// single-producer, single-consumer ring (Lamport 1983).
//
//   Worker worker;
//   worker.Submit([&] { ... });       // returns at once
//   worker.Drain();                   // all is done
#ifndef OCANNL_CORE_RUNTIME_THREADS_WORKER_H_
#define OCANNL_CORE_RUNTIME_THREADS_WORKER_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "ocannl/core/runtime/threads/event.h"

namespace ocannl {

// For one thread that submits.
class Worker {
 public:
  using Command = absl::AnyInvocable<void()>;

  // Where the system has no more threads, commands are done by Submit.
  Worker();
  // Returns when all is done.
  ~Worker();
  Worker(const Worker&) = delete;

  bool has_thread() const { return thread_.joinable(); }

  // Does `command` after all that were submitted before. Waits while there are
  // a thousand before it.
  void Submit(Command command);

  // Also calls `command` once when there is nothing else to do; only for
  // commands to call. Of those with one `key`, the first counts.
  void WhenIdle(const void* key, Command command);

  // Not any more; only for commands to call, too.
  void Forget(const void* key);

  using DevicePoint = absl::AnyInvocable<std::shared_ptr<const DeviceEvent>()>;

  // Is done when all that was submitted so far is, and so is what `on_device`
  // returns then, unless that is null.
  Event Record(DevicePoint on_device = nullptr);

  // Returns when all is done. Throws what a command threw first, which is
  // memory that ends.
  void Drain();

 private:
  struct IdleTask {
    const void* key;
    Command command;
  };

  void Serve();
  // Whether it has a processor for programs of its own (Team::SideBySide), as
  // it has while it spins, too.
  void SetAtWork(bool is_at_work);
  void Do(Command& command);
  void RunIdleTasks();

  std::vector<Command> ring_;
  std::vector<IdleTask> idle_tasks_;  // of the thread
  std::exception_ptr thrown_;  // by a command, until Drain; of the thread
  std::atomic<uint32_t> submitted_ = 0;
  std::atomic<uint32_t> done_ = 0;
  std::atomic<bool> is_at_work_ = false;
  bool stops_ = false;  // of the thread
  std::thread thread_;
  int callers_processor_ = -1;  // when it last had nothing to do
};

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_THREADS_WORKER_H_
