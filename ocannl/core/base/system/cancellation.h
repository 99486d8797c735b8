// SPDX-License-Identifier: Apache-2.0
//
// Cancellation: a flag by which one thread asks another to end long work, such
// as a compilation. The work looks at it between its parts: cooperative
// cancellation.
//
//   std::atomic<bool> flag = false;  // another thread sets it
//   const CancellationScope scope(&flag);
//   absl::StatusOr<Routine> routine = ToRoutine(context, code, {});
//
// A stage that returns a status returns CancelledError. Others leave out the
// rest of their work, so that what they return is not to be kept: a caller that
// keeps it asks again.
#ifndef OCANNL_CORE_BASE_SYSTEM_CANCELLATION_H_
#define OCANNL_CORE_BASE_SYSTEM_CANCELLATION_H_

#include <atomic>

#include "absl/status/status.h"

namespace ocannl {

// Of this thread, as long as it lives. The flag must outlive it.
class CancellationScope {
 public:
  explicit CancellationScope(const std::atomic<bool>* flag) : before_(flag_) {
    flag_ = flag;
  }
  ~CancellationScope() { flag_ = before_; }
  CancellationScope(const CancellationScope&) = delete;

 private:
  friend bool IsCancelled();
  static inline thread_local const std::atomic<bool>* flag_ = nullptr;
  const std::atomic<bool>* before_;
};

// Whether the work of this thread is to end. A few loads.
inline bool IsCancelled() {
  const std::atomic<bool>* const flag = CancellationScope::flag_;
  return flag != nullptr && flag->load(std::memory_order_relaxed);
}

// Error: it is to end.
inline absl::Status CheckNotCancelled() {
  return IsCancelled() ? absl::CancelledError("the caller asked to end")
                       : absl::OkStatus();
}

}  // namespace ocannl

#endif  // OCANNL_CORE_BASE_SYSTEM_CANCELLATION_H_
