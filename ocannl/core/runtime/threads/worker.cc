// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/threads/worker.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/runtime/threads/spin.h"
#include "ocannl/core/runtime/threads/team.h"

namespace ocannl {
namespace {

constexpr uint32_t kCapacity = 1024;

// To measure: `bazel run //experiments:bench -- --filter=shards/ --threads=1`.
constexpr std::chrono::microseconds kWorkerSpin(200);

// As SpinThenPark, but no team waits for the processor of a thread that spins.
uint32_t WaitSideBySide(const std::atomic<uint32_t>& value, uint32_t old) {
  {
    Team::SideBySide share;
    const uint32_t now = Spin(value, old, kWorkerSpin);
    if (now != old) return now;
  }
  return SpinThenPark(value, old, {});
}

}  // namespace

std::shared_ptr<const DeviceEvent> Event::WaitUntilSubmitted() const {
  if (state_ == nullptr) return nullptr;
  WaitSideBySide(state_->is_submitted, 0);
  return state_->on_device;
}

void Event::Wait() const {
  if (const auto on_device = WaitUntilSubmitted()) on_device->Wait();
}

Worker::Worker() : ring_(kCapacity) {
  try {
    thread_ = std::thread([this] { Serve(); });
  } catch (const std::system_error&) {
    // Submit does all the work.
  }
}

Worker::~Worker() {
  if (!has_thread()) return;
  Submit([this] { stops_ = true; });
  thread_.join();
}

void Worker::Submit(Command command) {
  if (!has_thread()) {
    Do(command);
    return RunIdleTasks();
  }
  const uint32_t number = submitted_.load(std::memory_order_relaxed);
  uint32_t done = done_.load(std::memory_order_acquire);
  if (number == done) {  // it may have parked
    SetAtWork(true);
    MigrateOffCaller(absl::MakeSpan(&thread_, 1), callers_processor_);
  }
  while (number - done == kCapacity) done = WaitSideBySide(done_, done);
  ring_[number % kCapacity] = std::move(command);
  Advance(submitted_);
}

void Worker::WhenIdle(const void* key, Command command) {
  for (const IdleTask& task : idle_tasks_) {
    if (task.key == key) return;
  }
  idle_tasks_.push_back({key, std::move(command)});
}

void Worker::Forget(const void* key) {
  std::erase_if(idle_tasks_,
                [&](const IdleTask& task) { return task.key == key; });
}

Event Worker::Record(DevicePoint on_device) {
  Event event;
  event.state_ = std::make_shared<Event::State>();
  Submit([state = event.state_, on_device = std::move(on_device)]() mutable {
    // Also where memory ends: nobody is to wait for ever.
    const absl::Cleanup submitted = [&] { Advance(state->is_submitted); };
    if (on_device != nullptr) state->on_device = on_device();
  });
  return event;
}

void Worker::Drain() {
  std::exception_ptr thrown;
  Submit([&] { thrown = std::exchange(thrown_, {}); });
  Record().Wait();
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

void Worker::Do(Command& command) {
  try {
    command();
  } catch (...) {
    if (thrown_ == nullptr) thrown_ = std::current_exception();
  }
}

void Worker::RunIdleTasks() {
  for (IdleTask& task : std::exchange(idle_tasks_, {})) Do(task.command);
}

void Worker::SetAtWork(bool is_at_work) {
  if (is_at_work_.exchange(is_at_work) == is_at_work) return;
  Team::SideBySide::Count(is_at_work ? 1 : -1);
}

void Worker::Serve() {
  NameThread("stream worker");
  // A new thread starts with the modes of the thread that made it.
  DefaultFloatEnvironment guard;
  Team::SideBySide::TakeShare();
  uint32_t number = 0;
  while (!stops_) {
    SetAtWork(true);
    uint32_t submitted = submitted_.load(std::memory_order_acquire);
    if (submitted == number) {
      RunIdleTasks();
      submitted = Spin(submitted_, number, kWorkerSpin);
    }
    if (submitted == number) {
      SetAtWork(false);
      submitted_.wait(number, std::memory_order_acquire);
      continue;
    }
    for (; number != submitted; ++number) {
      Command command = std::move(ring_[number % kCapacity]);
      Do(command);
      command = nullptr;
      Advance(done_);
    }
  }
  RunIdleTasks();
  SetAtWork(false);
}

}  // namespace ocannl
