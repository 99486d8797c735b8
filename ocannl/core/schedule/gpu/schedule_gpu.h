// SPDX-License-Identifier: Apache-2.0
//
// ScheduleGpu: LoopProgram -> LoopProgram whose parallel loops are blocks and
// threads of a GPU; the same bits.
//
//   for i0 = 0 to 9 { for i1 = 0 to 63 { y[i0, i1] := ...; } }
//   ->
//   grid i0 = 0 to 9 { grid i1 = 0 to 1 {
//     thread i2 = 0 to 31 { y[i0, 32*i1 + i2] := ...; } } }
//
// Each statement of the body is a kernel, fused with those before it or, cut
// where blocks would not be full, some. A plan is a script of rewrites
// (rewrite/print_script.h), all of them legal. What has no parallel loop
// outermost stays, and runs in one thread; so does a nest whose plan Verify
// refuses.
#ifndef OCANNL_CORE_SCHEDULE_GPU_SCHEDULE_GPU_H_
#define OCANNL_CORE_SCHEDULE_GPU_SCHEDULE_GPU_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/refusal.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl::gpu {

struct GpuSchedule {
  LoopProgram program;
  rewrite::Script script;  // that makes it of the one before
};

struct GpuOptions {
  // Gets the nests that stay as they were, as their plan was refused
  // (refusal.h); null: there is none, or the process ends.
  std::vector<Refusal>* refused = nullptr;
  // For tests of refusals: gets what was planned before it is verified, which
  // it may change, or refuses it.
  std::function<absl::Status(LoopProgram& made)> fault = nullptr;
};

// What a program without a schedule becomes: locals of its body, which no two
// kernels share, are temps. Error: what VerifyPromises or VerifyKernels say.
absl::StatusOr<LoopProgram> Demoted(LoopProgram program);

// Verify accepts `program`, and Verify and VerifyKernels accept the result. It
// has the same buffers in the same order, of which temps may be private or
// shared and have fewer axes, and then more of those. A nest that has a `grid`
// loop stays as it is.
GpuSchedule PlanGpu(const LoopProgram& program, const GpuTarget& target,
                    const GpuOptions& options = {});
LoopProgram ScheduleGpu(const LoopProgram& program, const GpuTarget& target,
                        const GpuOptions& options = {});

}  // namespace ocannl::gpu

#endif  // OCANNL_CORE_SCHEDULE_GPU_SCHEDULE_GPU_H_
