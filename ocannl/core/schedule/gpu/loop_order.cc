// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/loop_order.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/nests/product.h"

namespace ocannl::gpu {
namespace {

using rewrite::Rewriter;

// Where the loops are not in that order and may be.
void Reorder(Rewriter& rewriter, size_t at,
             const std::vector<NestLoop>& order) {
  const auto& nest = std::get<For>(rewriter.program().body.stmts[at]);
  const std::vector<IteratorId> before = IteratorsOf(LoopChain(nest));
  std::vector<IteratorId> after;
  for (const NestLoop& loop : order) after.push_back(loop.iterator);
  if (before == after || before.size() != after.size()) return;
  rewriter.Reorder(after).IgnoreError();
}

// Loops over results outermost, as the header says.
void Reorder(Rewriter& rewriter, size_t at) {
  const LoopProgram& program = rewriter.program();
  const Stmt& stmt = program.body.stmts[at];
  if (auto scatter = AsScatterNest(program, stmt)) {
    std::vector<NestLoop>& order = scatter->loops;
    std::rotate(order.begin(), order.end() - 1, order.end());
    return Reorder(rewriter, at, order);
  }
  std::optional<PerfectNest> nest = AsPerfectNest(program, stmt);
  if (!nest || nest->outputs.empty()) return;
  const int lane = FindLaneLoop(program, *nest);
  std::vector<NestLoop> order = nest->outputs;
  if (lane >= 0) {
    std::rotate(order.begin() + lane, order.begin() + lane + 1, order.end());
  }
  order.insert(order.end(), nest->reduced.begin(), nest->reduced.end());
  Reorder(rewriter, at, order);
}

// The nest loses parallel loops of one iteration but for the last one that is
// left: an axis that some statements have a loop for keeps them from fusing.
void DropUnits(Rewriter& rewriter, size_t at) {
  const std::vector<NestLoop> loops = ParallelLoops(rewriter.program(), at);
  size_t left = loops.size();
  for (const NestLoop& loop : loops) {
    if (loop.extent > 1 || left < 2) continue;
    if (rewriter.Unroll(loop.iterator).ok()) --left;
  }
}

}  // namespace

void PutOutputsFirst(Rewriter& rewriter, size_t at) {
  Reorder(rewriter, at);
  DropUnits(rewriter, at);
}

absl::Status Unschedule(Rewriter& rewriter, size_t at) {
  std::vector<IteratorId> par;
  WalkLoops({{rewriter.program().body.stmts[at]}}, [&](const For& loop) {
    if (loop.kind == LoopKind::kPar) par.push_back(loop.iterator);
  });
  for (IteratorId loop : par) {
    OCANNL_RETURN_IF_ERROR(rewriter.Bind(loop, LoopKind::kFor));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::gpu
