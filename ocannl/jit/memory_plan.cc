// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/memory_plan.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/plan_buffers.h"

namespace ocannl::jit {

absl::StatusOr<MemoryPlan> PlanMemory(const LoopProgram& original,
                                      const LoopProgram& scheduled) {
  OCANNL_ASSIGN_OR_RETURN(BufferPlan arena, PlanBuffers(scheduled));
  MemoryPlan plan;
  for (auto [buffer, argument] : CallersBuffers(original, scheduled)) {
    plan.callers.push_back({buffer.index, argument.index});
  }
  plan.num_buffers = static_cast<int64_t>(scheduled.buffers.size());
  plan.pointers = static_cast<int64_t>((arena.arena_bytes + 63) / 64 * 64);
  plan.bytes = plan.pointers + plan.num_buffers * sizeof(std::byte*);
  for (BufferId k : arena.offsets.ids()) {
    if (arena.offsets[k] < 0) continue;
    const bool is_private = scheduled.buffers[k].role == Role::kPrivate;
    (is_private ? plan.privates : plan.temps)
        .push_back({k.index, arena.offsets[k]});
  }
  return plan;
}

void KeepOnly(absl::Span<const BufferId> buffers, MemoryPlan& plan) {
  auto is_unused = [&](const MemoryPlan::Binding& binding) {
    return !absl::c_binary_search(
        buffers, BufferId{static_cast<int32_t>(binding.buffer)});
  };
  std::erase_if(plan.callers, is_unused);
  std::erase_if(plan.temps, is_unused);
  std::erase_if(plan.privates, is_unused);
  plan.is_callers =
      plan.temps.empty() && plan.privates.empty() &&
      absl::c_all_of(plan.callers, [](const MemoryPlan::Binding& binding) {
        return binding.buffer == binding.at;
      });
}

}  // namespace ocannl::jit
