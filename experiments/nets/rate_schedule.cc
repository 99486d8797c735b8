// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/rate_schedule.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ocannl/train/optim/schedule.h"

namespace ocannl {
namespace {

constexpr double kLast = 0.1;  // of the first rate

constexpr std::pair<absl::string_view, RateSchedule::Kind> kKinds[] = {
    {"constant", RateSchedule::kConstant},
    {"linear", RateSchedule::kLinear},
    {"cosine", RateSchedule::kCosine},
    {"step", RateSchedule::kStep},
    {"exponential", RateSchedule::kExponential}};

Tensor RateOf(RateSchedule::Kind kind, Graph& graph, int32_t step, double rate,
              int64_t steps) {
  const double last = kLast * rate;
  switch (kind) {
    case RateSchedule::kConstant:
      return Number(graph, rate);
    case RateSchedule::kLinear:
      return train::LinearRate(graph, step, rate, last, steps);
    case RateSchedule::kCosine:
      return train::CosineRate(graph, step, rate, last, steps);
    case RateSchedule::kStep:
      return train::StepRate(graph, step, rate, std::sqrt(kLast),
                             std::max<int64_t>(1, (steps + 2) / 3));
    case RateSchedule::kExponential:
      break;
  }
  return train::ExponentialRate(
      graph, step, rate, std::pow(kLast, 1 / static_cast<double>(steps)));
}

}  // namespace

absl::StatusOr<RateSchedule> ParseSchedule(absl::string_view text) {
  RateSchedule schedule;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ',');
  const auto* const kind =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const auto& known) { return known.first == parts[0]; });
  bool fits = kind != std::end(kKinds) && parts.size() <= 2;
  if (fits) schedule.kind = kind->second;
  if (fits && parts.size() == 2) {
    absl::string_view number = parts[1];
    fits = absl::ConsumePrefix(&number, "warmup=") &&
           absl::SimpleAtoi(number, &schedule.warmup) && schedule.warmup > 0;
  }
  if (fits) return schedule;
  return absl::InvalidArgumentError(absl::StrCat(
      "--schedule=", text, " is none of constant, linear, cosine, step and ",
      "exponential, with or without a warm-up, as linear,warmup=100"));
}

Tensor ScheduledRate(const RateSchedule& schedule, Graph& graph, int32_t step,
                     double rate, int64_t steps) {
  Tensor scheduled = RateOf(schedule.kind, graph, step, rate, steps);
  if (schedule.warmup > 0) {
    scheduled = train::Warmup(scheduled, step, schedule.warmup);
  }
  return scheduled;
}

}  // namespace ocannl
