// SPDX-License-Identifier: Apache-2.0
//
// Interruptible: native work that does not keep Ctrl-C waiting.
#ifndef PYTHON_NATIVE_INTERRUPTIBLE_H_
#define PYTHON_NATIVE_INTERRUPTIBLE_H_

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "python/native/session.h"

namespace ocannl::python {

// Does `work` on the arrays of a workplace, without Python's lock, and no other
// work at the same time. In the main thread, which has the signals, another
// thread does it meanwhile. If a handler raises, as that of Ctrl-C does, so
// does this at once. The work is then asked to end
// (core/base/system/cancellation.h); what comes next waits for it. So it owns
// what it uses. Raises what it throws.
absl::Status Interruptible(std::shared_ptr<const Workplace> place,
                           std::function<absl::Status()> work);

// Decides how work is done by the time that it took when it was done before:
// to ask another thread takes 10 us, a step of a small network 1.
class Pace {
 public:
  // As Interruptible. Work of the kind that was short the last time is done by
  // the thread that calls. Work on other dims, for one, is of another kind.
  template <class Place, class Work>
  absl::Status Do(const std::shared_ptr<Place>& place, Work work,
                  size_t kind = 0) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point start = Clock::now();
    absl::Status status;
    if (kind != short_kind_) {
      status = Interruptible(place, std::move(work));
    } else {
      const Unlocked unlocked(*place);
      status = work();
    }
    const bool is_long = Clock::now() - start > kShort;
    short_kind_ = is_long ? std::nullopt : std::optional(kind);
    return status;
  }

 private:
  // Nobody feels that Ctrl-C comes so late.
  static constexpr std::chrono::milliseconds kShort{20};

  std::optional<size_t> short_kind_;  // of the last work, if it was short
};

}  // namespace ocannl::python

#endif  // PYTHON_NATIVE_INTERRUPTIBLE_H_
