// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "ocannl/core/base/check.h"
#include "ocannl/core/base/float_environment.h"

namespace ocannl {
namespace {

using Clock = std::chrono::steady_clock;

// About what parking and waking up costs: to spin as long as that is at most
// twice the least possible wait (competitive spinning, Karlin et al. 1991). To
// measure: `bazel run //experiments:bench -- --filter=width/ --threads=2`.
constexpr auto kSpinTime = std::chrono::microseconds(20);

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Returns when `value` is not `old` any more.
void SpinThenPark(const std::atomic<uint32_t>& value, uint32_t old) {
  const Clock::time_point start = Clock::now();
  do {
    for (int k = 0; k < 64; ++k) {
      if (value.load(std::memory_order_acquire) != old) return;
      Pause();
    }
  } while (Clock::now() - start < kSpinTime);
  value.wait(old, std::memory_order_acquire);
}

void Advance(std::atomic<uint32_t>& value) {
  value.fetch_add(1, std::memory_order_release);
  value.notify_all();
}

}  // namespace

int Team::MaxSize() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  return std::max(1, CPU_COUNT(&allowed));
}

// Schedulers like to wake a thread on the processor of whoever wakes it, where
// it would not run until the caller's own share of the work is done.
void Team::MigrateWorkersOff(int processor) {
  if (processor == callers_processor_) return;
  callers_processor_ = processor;
  cpu_set_t others;
  CPU_ZERO(&others);
  if (processor < 0 || sched_getaffinity(0, sizeof(others), &others) != 0) {
    return;
  }
  CPU_CLR(processor, &others);
  if (static_cast<size_t>(CPU_COUNT(&others)) < workers_.size()) return;
  for (std::thread& worker : workers_) {
    pthread_setaffinity_np(worker.native_handle(), sizeof(others), &others);
  }
}

Team::Team(int size) {
  CHECK(size >= 1) << size;
  workers_.reserve(size - 1);  // All that can fail below is a new thread.
  try {
    for (int member = 1; member < size; ++member) {
      workers_.emplace_back([this, member] { Serve(member); });
    }
  } catch (const std::system_error&) {
    // Those that are there do all the work.
  }
}

Team::~Team() {
  stops_.store(true, std::memory_order_relaxed);
  Advance(round_);
  for (std::thread& worker : workers_) worker.join();
}

void Team::Serve(int member) {
  // A new thread starts with the modes of the thread that made it.
  DefaultFloatEnvironment guard;
  uint32_t seen = 0;
  while (true) {
    SpinThenPark(round_, seen);
    ++seen;
    if (stops_.load(std::memory_order_relaxed)) return;
    DoShare(member);
    Wait();
  }
}

void Team::DoShare(int member) {
  try {
    (*work_)(member);
  } catch (...) {
    std::lock_guard<std::mutex> lock(throwing_);
    thrown_ = std::current_exception();
  }
}

bool Team::TryRun(absl::FunctionRef<void(int member)> work) {
  std::unique_lock<std::mutex> lock(running_, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  MigrateWorkersOff(sched_getcpu());
  work_.emplace(work);
  Advance(round_);
  DoShare(0);
  Wait();
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, {}));
  return true;
}

void Team::Wait() {
  const uint32_t phase = phase_.load(std::memory_order_relaxed);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      static_cast<uint32_t>(size())) {
    arrived_.store(0, std::memory_order_relaxed);
    Advance(phase_);
  } else {
    SpinThenPark(phase_, phase);
  }
}

}  // namespace ocannl
