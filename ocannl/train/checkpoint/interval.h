// SPDX-License-Identifier: Apache-2.0
//
// CheckpointInterval: after which steps of a training to save a checkpoint.
//
//   OCANNL_ASSIGN_OR_RETURN(auto interval, CheckpointInterval::Parse("5m"));
//   for (...) {
//     ...
//     if (!interval.IsDue(++steps)) continue;
//     OCANNL_RETURN_IF_ERROR(series.Save(steps, arrays, context));
//   }
#ifndef OCANNL_TRAIN_CHECKPOINT_INTERVAL_H_
#define OCANNL_TRAIN_CHECKPOINT_INTERVAL_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace ocannl::train {

// Of a clock that never goes back.
double SteadySeconds();

class CheckpointInterval {
 public:
  // "100", each step whose number is a multiple of 100; "30s", "5m", "1h30m",
  // the first step after so long, by `now` in seconds. Errors: neither; not
  // above 0.
  static absl::StatusOr<CheckpointInterval> Parse(
      absl::string_view text, std::function<double()> now = SteadySeconds);

  // Whether to save after `steps` steps. Time counts from the last checkpoint
  // that was due, or from Parse.
  bool IsDue(int64_t steps);

 private:
  CheckpointInterval(int64_t steps, double seconds, std::function<double()> now)
      : steps_(steps), seconds_(seconds), now_(std::move(now)) {}

  int64_t steps_;  // 0: by time
  double seconds_;
  std::function<double()> now_;
  double last_ = 0;
};

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_CHECKPOINT_INTERVAL_H_
