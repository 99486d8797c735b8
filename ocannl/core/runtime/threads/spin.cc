// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/threads/spin.h"

#include <pthread.h>
#include <sched.h>

namespace ocannl {
namespace {

using Clock = std::chrono::steady_clock;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

uint32_t Spin(const std::atomic<uint32_t>& value, uint32_t old,
              std::chrono::microseconds spin) {
  const Clock::time_point start = Clock::now();
  do {
    for (int k = 0; k < 64; ++k) {
      const uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      Pause();
    }
  } while (Clock::now() - start < spin);
  return old;
}

uint32_t SpinThenPark(const std::atomic<uint32_t>& value, uint32_t old,
                      std::chrono::microseconds spin) {
  const uint32_t now = Spin(value, old, spin);
  if (now != old) return now;
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

void MigrateOffCaller(absl::Span<std::thread> threads, int& callers) {
  const int processor = sched_getcpu();
  if (processor == callers) return;
  callers = processor;
  cpu_set_t others;
  CPU_ZERO(&others);
  if (processor < 0 || sched_getaffinity(0, sizeof(others), &others) != 0) {
    return;
  }
  CPU_CLR(processor, &others);
  if (static_cast<size_t>(CPU_COUNT(&others)) < threads.size()) return;
  for (std::thread& thread : threads) {
    pthread_setaffinity_np(thread.native_handle(), sizeof(others), &others);
  }
}

void Advance(std::atomic<uint32_t>& value) {
  value.fetch_add(1, std::memory_order_release);
  value.notify_all();
}

}  // namespace ocannl
