// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/plan_map.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/nests/product.h"

namespace ocannl::gpu {
namespace {

using rewrite::NewLoops;
using rewrite::Rewriter;

int64_t GreatestDivisor(int64_t of, int64_t most) {
  int64_t divisor = std::min(of, most);
  while (of % divisor != 0) --divisor;
  return divisor;
}

// Threads of a block: fewer where that gives more processors something to do.
int64_t ThreadsFor(const std::vector<NestLoop>& loops,
                   const GpuTarget& target) {
  int64_t threads = target.threads;
  while (threads / 2 >= target.warp &&
         Iterations(loops) / static_cast<double>(threads) <
             static_cast<double>(target.multiprocessors)) {
    threads /= 2;
  }
  return threads;
}

// The loops from `split` on are threads, `size` iterations of that one and all
// of those inside.
struct BlockShape {
  size_t split;
  int64_t size;
};

BlockShape ShapeOf(const std::vector<NestLoop>& loops, int64_t threads) {
  BlockShape shape{.split = loops.size() - 1, .size = 1};
  for (size_t k = loops.size(); k-- > 0;) {
    shape = {.split = k, .size = std::min(threads, loops[k].extent)};
    threads /= shape.size;
    if (shape.size < loops[k].extent || threads < 2) break;
  }
  // Strips of one length need no kernel for the rest.
  const int64_t extent = loops[shape.split].extent;
  const int64_t divisor = GreatestDivisor(extent, shape.size);
  if (2 * divisor > shape.size) shape.size = divisor;
  return shape;
}

// A sum that a thread makes is in a register meanwhile.
void UseRegisters(Rewriter& rewriter, const Block& body) {
  std::vector<std::pair<std::string, IteratorId>> sums;
  for (const Stmt& stmt : body.stmts) {
    const For* outermost = std::get_if<For>(&stmt);
    if (outermost == nullptr) continue;
    const std::vector<Stmt>& stmts = LoopChain(*outermost).back()->body.stmts;
    if (stmts.size() != 1) continue;
    const Set* set = std::get_if<Set>(&stmts[0]);
    if (set == nullptr) continue;
    const Buffer& buffer = rewriter.program().buffers[set->target.buffer];
    bool moves = false;
    auto visit = [&](const For& in) {
      moves = moves || MovesAlong(set->target, in.iterator);
    };
    visit(*outermost);
    WalkLoops(outermost->body, visit);
    if (moves || buffer.role == Role::kPrivate) continue;
    sums.emplace_back(buffer.name, outermost->iterator);
  }
  for (const auto& [buffer, loop] : sums) {
    rewriter.Privatize(buffer, loop, loop).IgnoreError();
  }
}

}  // namespace

absl::Status CutNest(Rewriter& rewriter, const std::vector<NestLoop>& loops,
                     size_t which, int64_t at) {
  OCANNL_RETURN_IF_ERROR(rewriter.Cut(loops[which].iterator, at));
  for (size_t k = which; k-- > 0;) {
    OCANNL_RETURN_IF_ERROR(rewriter.Distribute(loops[k].iterator));
  }
  return absl::OkStatus();
}

absl::Status PlanMap(Rewriter& rewriter, size_t at,
                     const std::vector<NestLoop>& loops,
                     const GpuTarget& target, bool cuts) {
  BlockShape shape = ShapeOf(loops, ThreadsFor(loops, target));
  const int64_t extent = loops[shape.split].extent;
  if (extent % shape.size != 0) {
    Rewriter::Savepoint before(rewriter);
    if (!cuts ||
        !CutNest(rewriter, loops, shape.split, extent - extent % shape.size)
             .ok()) {
      before.RollBack();
      shape.size = GreatestDivisor(extent, shape.size);
    }
  }
  UseRegisters(rewriter, BodyOf(rewriter.program(), at, loops.size()));
  OCANNL_ASSIGN_OR_RETURN(
      const NewLoops made,
      rewriter.Split(loops[shape.split].iterator, shape.size));
  for (size_t k = 0; k < loops.size(); ++k) {
    OCANNL_RETURN_IF_ERROR(
        rewriter.Bind(loops[k].iterator,
                      k <= shape.split ? LoopKind::kGrid : LoopKind::kThread));
    if (k != shape.split) continue;
    OCANNL_RETURN_IF_ERROR(rewriter.Bind(made[0], LoopKind::kThread));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::gpu
