// SPDX-License-Identifier: Apache-2.0
//
// MemoryPlan: where the buffers of a scheduled program are: the caller's, and
// temps, private buffers and the addresses of all of them in a thread's scratch
// memory. Threads that work together share the temps of one of them.
#ifndef OCANNL_JIT_MEMORY_PLAN_H_
#define OCANNL_JIT_MEMORY_PLAN_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/loop/loop.h"

namespace ocannl::jit {

struct MemoryPlan {
  struct Place {
    int64_t buffer;
    int64_t at;
  };

  std::vector<Place> callers = {};  // at: the argument
  std::vector<Place> temps = {};  // at: the offset in scratch memory, in bytes
  std::vector<Place> privates = {};  // at: likewise
  int64_t num_buffers = 0;
  int64_t pointers = 0;     // where the addresses are
  int64_t bytes = 0;        // of scratch memory
  bool is_callers = false;  // the code can have the caller's addresses as such
};

// `original` is the program as its callers know it, `scheduled` as it runs.
// Error: as of PlanBuffers.
absl::StatusOr<MemoryPlan> PlanMemory(const LoopProgram& original,
                                      const LoopProgram& scheduled);

// Forgets buffers that are not among these, which ascend: what is in registers
// only needs no place.
void KeepOnly(absl::Span<const int32_t> buffers, MemoryPlan& plan);

}  // namespace ocannl::jit

#endif  // OCANNL_JIT_MEMORY_PLAN_H_
