// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/one_block.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::gpu {
namespace {

constexpr int64_t kMostRegisters = 1024;  // bytes of a private buffer

// For one processor, in blocks that keep it busy, which leave a thread fewer
// registers.
GpuTarget OneProcessor(GpuTarget target) {
  target.multiprocessors = 0;
  target.threads = std::min(2 * target.threads, kMaxThreads);
  target.tile = std::max<int64_t>(target.tile / 2, 2);
  return target;
}

// The statement as phases: its blocks one after the other, or one thread.
Stmt AsPhases(LoopProgram& program, Stmt stmt) {
  const For* loop = std::get_if<For>(&stmt);
  const bool has_phases = loop != nullptr && loop->kind == LoopKind::kGrid;
  Block block{{std::move(stmt)}};
  RewriteStmts(block, [](Stmt& each) {
    For* in = std::get_if<For>(&each);
    if (in != nullptr &&
        (in->kind == LoopKind::kGrid || in->kind == LoopKind::kPar)) {
      in->kind = LoopKind::kFor;
    }
  });
  if (has_phases) return std::move(block.stmts[0]);
  return For{LoopKind::kThread, program.FreshIterator(), 1, std::move(block)};
}

// Error: what is one thread's alone, and in memory where it is a kernel, would
// be in the registers of all.
absl::Status CheckRegisters(const LoopProgram& program, const Stmt& stmt) {
  const For* loop = std::get_if<For>(&stmt);
  if (loop != nullptr && loop->kind == LoopKind::kGrid) return absl::OkStatus();
  for (BufferId id : EffectsOf(program, stmt).writes) {
    const Buffer& buffer = program.buffers[id];
    if (buffer.role == Role::kPrivate && SharedBytes(buffer) > kMostRegisters) {
      return absl::ResourceExhaustedError(
          absl::StrCat("`", buffer.name, "` is too large for registers"));
    }
  }
  return absl::OkStatus();
}

// What temps the block has room for is in shared memory.
void ShareTemps(LoopProgram& program, int64_t room) {
  for (Buffer& buffer : program.buffers) {
    if (buffer.role != Role::kTemp || SharedBytes(buffer) > room) continue;
    buffer.role = Role::kShared;
    room -= SharedBytes(buffer);
  }
}

}  // namespace

double CountRuns(const LoopProgram& program, const Block& block) {
  double runs = 0;
  for (const Stmt& stmt : block.stmts) {
    if (const For* loop = std::get_if<For>(&stmt)) {
      runs +=
          static_cast<double>(loop->extent) * CountRuns(program, loop->body);
    } else if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
      runs +=
          static_cast<double>(NumElements(program.buffers[zero->buffer].dims));
    } else {
      ++runs;
    }
  }
  return runs;
}

absl::StatusOr<LoopProgram> ScheduleOneBlock(const LoopProgram& program,
                                             const GpuTarget& target) {
  OCANNL_ASSIGN_OR_RETURN(const LoopProgram demoted, Demoted(program));
  std::vector<Refusal> refused;
  LoopProgram block =
      ScheduleGpu(demoted, OneProcessor(target), {.refused = &refused});
  CHECK(refused.empty() || !AreRefusalsFatal()) << Text(refused[0]);
  if (!refused.empty()) return absl::InternalError(Text(refused[0]));
  For grid{LoopKind::kGrid, block.FreshIterator(), 1, {}};
  for (Stmt& stmt : block.body.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    OCANNL_RETURN_IF_ERROR(CheckRegisters(block, stmt));
    grid.body.stmts.push_back(AsPhases(block, std::move(stmt)));
  }
  if (rewrite::LoopDepthOf(grid.body) >= kMaxLoopDepth) {
    return absl::ResourceExhaustedError("loops as deep as can be");
  }
  const int64_t bytes = SharedBytes(block, grid.body);
  block.body.stmts = {std::move(grid)};
  if (bytes > target.shared_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "one block for all would need ", bytes,
        " bytes of shared memory, and there are ", target.shared_bytes));
  }
  ShareTemps(block, target.shared_bytes - bytes);
  OCANNL_RETURN_IF_ERROR(Verify(block));
  OCANNL_RETURN_IF_ERROR(VerifyKernels(block));
  return block;
}

}  // namespace ocannl::gpu
