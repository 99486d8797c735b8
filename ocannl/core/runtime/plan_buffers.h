// SPDX-License-Identifier: Apache-2.0
//
// PlanBuffers: static memory planning: offsets for the temps of a program,
// private ones too, in one arena. Temps whose live intervals are disjoint may
// share bytes. Greedy by size, first fit (Pisarchyk and Lee 2020).
//
//   temp a: statements 0 to 1   temp b: 1 to 2   temp c: 2 to 3
//   -> a and c at 0, b behind them
#ifndef OCANNL_CORE_RUNTIME_PLAN_BUFFERS_H_
#define OCANNL_CORE_RUNTIME_PLAN_BUFFERS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl {

struct BufferPlan {
  // In bytes from the start of the arena, at a cache line; -1 for buffers that
  // are no temps or never used.
  IdVector<BufferId, int64_t> offsets;
  int64_t arena_bytes = 0;
};

// Largest first, each at the lowest offset that is free in its live interval:
// from the first to the last statement of the program's body that mentions it.
// Error: sizes that cannot be represented.
absl::StatusOr<BufferPlan> PlanBuffers(const LoopProgram& program);

// The buffers of `scheduled` that its callers give, each with the one of
// `original` that it is. Schedules add scratch only, and keep the order.
std::vector<std::pair<BufferId, BufferId>> CallersBuffers(
    const LoopProgram& original, const LoopProgram& scheduled);

}  // namespace ocannl

#endif  // OCANNL_CORE_RUNTIME_PLAN_BUFFERS_H_
