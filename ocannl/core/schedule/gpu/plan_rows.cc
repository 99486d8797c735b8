// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/plan_rows.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/gpu/phases.h"
#include "ocannl/core/schedule/gpu/plan_map.h"
#include "ocannl/core/schedule/gpu/verify_kernels.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::gpu {
namespace {

// How much of the work of a cross-thread reduction is in lanes, against what is
// left to one thread. No GPU has measured it.
constexpr double kLeastOfLanes = 8;

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
  const For& loop = InnermostOf(*outermost);
  const bool is_map =
      loop.kind == LoopKind::kFor && CanRunAsLanes(program, loop);
  return is_map ? &loop : nullptr;
}

}  // namespace

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

absl::Status PlanRows(rewrite::ScriptRunner& script, size_t at, size_t rows,
                      const GpuTarget& target) {
  const IteratorId innermost =
      ParallelLoops(script.program(), at)[rows - 1].iterator;
  const Block& row = BodyOf(script.program(), at, rows);
  const int64_t lanes = WorkOf(row, 1).lanes;
  if (lanes > kMaxThreads) {
    return absl::ResourceExhaustedError("more lanes than threads of a block");
  }
  std::vector<NestLoop> maps;
  for (const Stmt& stmt : row.stmts) {
    const For* map = MapLoop(script.program(), stmt);
    if (map != nullptr) maps.push_back({map->iterator, map->extent});
  }
  auto vectorize = [&](IteratorId loop) {
    return script.Line(absl::StrCat("vectorize ", Name(loop)));
  };
  for (const NestLoop& map : maps) {
    if (map.extent <= lanes) {
      OCANNL_RETURN_IF_ERROR(vectorize(map.iterator));
      continue;
    }
    const IteratorId strip = NextIterator(script.program());
    OCANNL_RETURN_IF_ERROR(
        script.Line(absl::StrCat("split ", Name(map.iterator), " ", lanes)));
    OCANNL_RETURN_IF_ERROR(vectorize(strip));
    if (map.extent % lanes == 0) continue;
    OCANNL_RETURN_IF_ERROR(vectorize({strip.index + 1}));
  }
  OCANNL_RETURN_IF_ERROR(
      script.Line(absl::StrCat("cross_thread ", Name(innermost))));
  const Block& body = BodyOf(script.program(), at, rows);
  if (SharedBytes(script.program(), body) > target.shared_bytes) {
    return absl::ResourceExhaustedError("lanes that need more shared memory");
  }
  return absl::OkStatus();
}

}  // namespace ocannl::gpu
