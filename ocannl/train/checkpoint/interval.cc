// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/interval.h"

#include <chrono>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace ocannl::train {

double SteadySeconds() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

absl::StatusOr<CheckpointInterval> CheckpointInterval::Parse(
    absl::string_view text, std::function<double()> now) {
  int64_t steps = 0;
  absl::Duration time;
  const bool counts = absl::SimpleAtoi(text, &steps);
  if (counts
          ? steps <= 0
          : !absl::ParseDuration(text, &time) || time <= absl::ZeroDuration() ||
                time == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the interval `", text, "` is neither a number of steps, such as 100, ",
        "nor a time, such as 30s, 5m or 1h30m"));
  }
  CheckpointInterval interval(counts ? steps : 0, absl::ToDoubleSeconds(time),
                              std::move(now));
  interval.last_ = interval.now_();
  return interval;
}

bool CheckpointInterval::IsDue(int64_t steps) {
  if (steps_ > 0) return steps % steps_ == 0;
  const double now = now_();
  if (now - last_ < seconds_) return false;
  last_ = now;
  return true;
}

}  // namespace ocannl::train
