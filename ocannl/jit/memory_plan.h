// SPDX-License-Identifier: Apache-2.0
//
// MemoryPlan: what the buffers of a scheduled program are bound to: the
// caller's are arguments; temps, private buffers and the addresses of all are
// in a thread's scratch memory. Threads of one run share the temps of one of
// them.
#ifndef OCANNL_JIT_MEMORY_PLAN_H_
#define OCANNL_JIT_MEMORY_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::jit {

struct MemoryPlan {
  struct Binding {
    int64_t buffer;
    int64_t at;
  };

  std::vector<Binding> callers = {};   // at: the argument
  std::vector<Binding> temps = {};     // at: bytes in scratch memory
  std::vector<Binding> privates = {};  // at: likewise
  int64_t num_buffers = 0;
  int64_t pointers = 0;     // where the addresses are
  int64_t bytes = 0;        // of scratch memory
  bool is_callers = false;  // the code can have the caller's addresses as such
};

// `original` is the program as its callers know it, `scheduled` as it runs.
// Error: as of PlanBuffers.
absl::StatusOr<MemoryPlan> PlanMemory(const LoopProgram& original,
                                      const LoopProgram& scheduled);

// Forgets buffers that are not among these, which ascend: those promoted to
// registers need no memory.
void KeepOnly(absl::Span<const BufferId> buffers, MemoryPlan& plan);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_MEMORY_PLAN_H_
