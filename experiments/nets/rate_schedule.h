// SPDX-License-Identifier: Apache-2.0
//
// How the learning rate of an experiment changes: --schedule.
#ifndef EXPERIMENTS_NETS_RATE_SCHEDULE_H_
#define EXPERIMENTS_NETS_RATE_SCHEDULE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl {

struct RateSchedule {
  // All but the constant one end at a tenth of the rate that they begin with,
  // by the schedules of train/optim/schedule.h; kStep at each third of the way.
  enum Kind { kConstant, kLinear, kCosine, kStep, kExponential };
  Kind kind = kLinear;
  int64_t warmup = 0;  // steps
};

// "cosine", "constant,warmup=100". Error: another text.
absl::StatusOr<RateSchedule> ParseSchedule(absl::string_view text);

// The rate, from `rate` in step 0 to the step number `steps`, the value of
// the static index `step` of the graph.
Tensor ScheduledRate(const RateSchedule& schedule, Graph& graph, int32_t step,
                     double rate, int64_t steps);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_RATE_SCHEDULE_H_
