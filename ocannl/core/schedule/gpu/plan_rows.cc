// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/plan_rows.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/assign/sums/find_lanes.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/nests/product.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::gpu {
namespace {

using rewrite::Rewriter;

// How much of the work of a cross-thread reduction is in lanes, against what is
// left to one thread. No GPU has measured it.
constexpr double kLeastOfLanes = 8;

// The iterations of a loop that a thread does at once, so that what they read
// is on its way together, and the cells of a row that it has in registers; and
// those at once of a longer loop. With them an H200 does softmax of 16384x4096
// in 0.147 ms, and in 0.551 without (tools/gpu_check.sh; docs/gpu/h200.md).
constexpr int64_t kCellsOfThread = 64;
constexpr int64_t kUnrolled = 16;

// Statements times iterations, in `vec` loops and outside of those.
struct Work {
  double of_lanes = 0;
  double serial = 0;
  int64_t lanes = 0;  // of the longest such loop
};

Work WorkOf(const Block& block, double times) {
  Work all;
  for (const Stmt& stmt : block.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) {
      all.serial += times;
      continue;
    }
    Work work = WorkOf(loop->body, times * static_cast<double>(loop->extent));
    if (loop->kind == LoopKind::kVec) {
      work = {.of_lanes = work.of_lanes + work.serial,
              .serial = 0,
              .lanes = loop->extent};
    }
    all.of_lanes += work.of_lanes;
    all.serial += work.serial;
    all.lanes = std::max(all.lanes, work.lanes);
  }
  return all;
}

bool IsReduction(const Block& row, const GpuTarget& target) {
  const Work work = WorkOf(row, 1);
  return work.lanes >= target.warp && work.lanes <= kMaxThreads &&
         work.of_lanes >= kLeastOfLanes * work.serial;
}

// The innermost one of loops around each other, where it can be lanes and is
// none yet; else null.
const For* MapLoop(const LoopProgram& program, const Stmt& stmt) {
  const For* outermost = std::get_if<For>(&stmt);
  if (outermost == nullptr) return nullptr;
  const For& loop = *LoopChain(*outermost).back();
  const bool is_map =
      loop.kind == LoopKind::kFor && CanRunAsLanes(program, loop);
  return is_map ? &loop : nullptr;
}

// The loops, each the only statement of the one before, down to one over
// threads; empty: there is none.
std::vector<NestLoop> LoopsToThreads(const Stmt& stmt) {
  std::vector<NestLoop> loops;
  const For* outermost = std::get_if<For>(&stmt);
  if (outermost == nullptr) return loops;
  for (const For* in : LoopChain(*outermost)) {
    loops.push_back({in->iterator, in->extent});
    if (in->kind == LoopKind::kThread) return loops;
    if (in->kind != LoopKind::kFor) break;
  }
  return {};
}

// Loop interchange: loops around threads go into them, so that a thread need
// not wait for the others after each iteration.
void PutLoopsIntoThreads(Rewriter& rewriter, size_t at, size_t rows) {
  const auto row = [&]() -> const std::vector<Stmt>& {
    return BodyOf(rewriter.program(), at, rows).stmts;
  };
  for (size_t k = 0; k < row().size(); ++k) {
    const std::vector<NestLoop> nest = LoopsToThreads(row()[k]);
    if (nest.size() < 2) continue;
    std::vector<IteratorId> order = {nest.back().iterator};
    for (size_t outer = 0; outer + 1 < nest.size(); ++outer) {
      order.push_back(nest[outer].iterator);
    }
    Rewriter::Savepoint before(rewriter);
    // Threads that were independent in each iteration need not be in all.
    if (!rewriter.Reorder(order).ok() ||
        !IsParallel(rewriter.program(), std::get<For>(row()[k]))) {
      before.RollBack();
      continue;
    }
    NestLoop loop = nest[nest.size() - 2];
    if (loop.extent > kCellsOfThread) {
      const rewrite::Made made = rewriter.Split(loop.iterator, kUnrolled);
      if (!made.ok()) continue;
      loop.iterator = made->front();
    }
    rewriter.Bind(loop.iterator, LoopKind::kUnroll).IgnoreError();
  }
}

// Whether each thread has its own cells of the private buffer, few enough.
bool IsOfThreads(const LoopProgram& program, const Block& row,
                 BufferId buffer) {
  const Dims& dims = program.buffers[buffer].dims;
  const absl::StatusOr<size_t> axes = ThreadAxes(program, row, buffer);
  return axes.ok() && *axes == 1 &&
         NumElements(dims) <= kCellsOfThread * dims[0];
}

// Cache read into registers of what several phases read of a row.
void KeepInRegisters(Rewriter& rewriter, size_t at, size_t rows) {
  std::map<BufferId, std::vector<IteratorId>> readers;
  const LoopProgram& program = rewriter.program();
  for (const Stmt& stmt : BodyOf(program, at, rows).stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) continue;
    for (BufferId id : EffectsOf(program, stmt).reads) {
      if (IsOfNest(program.buffers[id].role)) continue;
      readers[id].push_back(loop->iterator);
    }
  }
  for (const auto& [id, loops] : readers) {
    if (loops.size() < 2) continue;
    Rewriter::Savepoint before(rewriter);
    const BufferId copy = program.buffers.next_id();
    if (!rewriter
             .Pack(program.buffers[id].name, loops.front(), loops.back(),
                   std::vector<IteratorId>())
             .ok() ||
        !IsOfThreads(program, BodyOf(program, at, rows), copy)) {
      before.RollBack();
    }
  }
}

}  // namespace

bool HasShortRows(const LoopProgram& program, size_t at, size_t rows) {
  const Block& row = BodyOf(program, at, rows);
  const Work work = WorkOf(row, 1);
  return work.of_lanes + work.serial <=
         kCellsOfThread * kMaxLanes * static_cast<double>(row.stmts.size());
}

size_t RowLoops(const LoopProgram& program, size_t at,
                const GpuTarget& target) {
  const size_t loops = ParallelLoops(program, at).size();
  if (loops == 0) return 0;
  return IsReduction(BodyOf(program, at, loops), target) ? loops : 0;
}

bool IsOfRows(const LoopProgram& program, size_t at, size_t rows,
              const GpuTarget& target) {
  const std::vector<NestLoop> loops = ParallelLoops(program, at);
  if (loops.size() < rows) return false;
  const Block& body = BodyOf(program, at, loops.size());
  if (rewrite::LoopDepthOf(body) > 0) {
    return loops.size() == rows && IsReduction(body, target);
  }
  const Stmt& stmt = program.body.stmts[at];
  return loops.size() == rows || (loops.back().extent >= target.warp &&
                                  MapLoop(program, stmt) != nullptr);
}

absl::Status PlanRows(Rewriter& rewriter, size_t at, size_t rows,
                      const GpuTarget& target) {
  const IteratorId innermost =
      ParallelLoops(rewriter.program(), at)[rows - 1].iterator;
  const Block& row = BodyOf(rewriter.program(), at, rows);
  const int64_t lanes = WorkOf(row, 1).lanes;
  if (lanes > kMaxThreads) {
    return absl::ResourceExhaustedError("more lanes than threads of a block");
  }
  std::vector<NestLoop> maps;
  for (const Stmt& stmt : row.stmts) {
    const For* map = MapLoop(rewriter.program(), stmt);
    if (map != nullptr) maps.push_back({map->iterator, map->extent});
  }
  for (const NestLoop& map : maps) {
    if (map.extent <= lanes) {
      OCANNL_RETURN_IF_ERROR(rewriter.Vectorize(map.iterator));
      continue;
    }
    OCANNL_ASSIGN_OR_RETURN(const rewrite::NewLoops made,
                            rewriter.Split(map.iterator, lanes));
    OCANNL_RETURN_IF_ERROR(rewriter.Vectorize(made[0]));
    if (map.extent % lanes == 0) continue;
    OCANNL_RETURN_IF_ERROR(rewriter.Vectorize(made[1]));
  }
  OCANNL_RETURN_IF_ERROR(rewriter.CrossThread(innermost));
  PutLoopsIntoThreads(rewriter, at, rows);
  KeepInRegisters(rewriter, at, rows);
  const Block& body = BodyOf(rewriter.program(), at, rows);
  if (SharedBytes(rewriter.program(), body) > target.shared_bytes) {
    return absl::ResourceExhaustedError("lanes that need more shared memory");
  }
  return absl::OkStatus();
}

}  // namespace ocannl::gpu
