// SPDX-License-Identifier: Apache-2.0
//
// Waiting for another thread: spinning, then parking (competitive spinning,
// Karlin et al. 1991); and where it runs meanwhile.
#ifndef OCANNL_CORE_RUNTIME_THREADS_SPIN_H_
#define OCANNL_CORE_RUNTIME_THREADS_SPIN_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "absl/types/span.h"

namespace ocannl {

// Returns when `value` is not `old` any more, and what it is then. To spin as
// long as it costs to park and wake up is at most twice the least possible
// wait.
uint32_t SpinThenPark(const std::atomic<uint32_t>& value, uint32_t old,
                      std::chrono::microseconds spin);

// Likewise, but does not park: what it is after `spin`, too.
uint32_t Spin(const std::atomic<uint32_t>& value, uint32_t old,
              std::chrono::microseconds spin);

// Adds one, and wakes those who wait for it. What was done before is seen by
// whoever sees the new value.
void Advance(std::atomic<uint32_t>& value);

// Lets the threads run on any processor but the caller's, where there are as
// many others; `callers` is where it was at the last call, at first -1.
// Schedulers like to wake a thread on the processor of whoever wakes it, where
// it would not run until the caller's own share of the work is done.
void MigrateOffCaller(absl::Span<std::thread> threads, int& callers);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_THREADS_SPIN_H_
