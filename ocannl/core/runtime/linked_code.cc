// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/linked_code.h"

#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/runtime/plan_buffers.h"

namespace ocannl {

absl::StatusOr<std::shared_ptr<const LinkedCode>> LinkCode(
    const Device& device, std::shared_ptr<const LoopProgram> program,
    std::shared_ptr<const Executable> executable, DeviceArrays arrays) {
  auto code = std::make_shared<LinkedCode>();
  IdVector<loop_ir::BufferId, int64_t> offsets(program->buffers.size(), -1);
  if (!executable->HasScratch()) {
    OCANNL_ASSIGN_OR_RETURN(BufferPlan plan, PlanBuffers(*program));
    OCANNL_ASSIGN_OR_RETURN(code->arena, device.Allocate(plan.arena_bytes));
    offsets = std::move(plan.offsets);
  }
  code->buffers.reserve(arrays.size());
  for (loop_ir::BufferId k : arrays.ids()) {
    std::byte* place = nullptr;
    if (arrays[k] != nullptr) {
      place = arrays[k]->memory.address();
    } else if (offsets[k] >= 0) {
      place = code->arena.address() + offsets[k];
    }
    code->buffers.push_back(place);
  }
  code->program = std::move(program);
  code->executable = std::move(executable);
  code->arrays = std::move(arrays);
  return code;
}

}  // namespace ocannl
