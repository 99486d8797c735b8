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

// A thread has 255 registers, and each term needs one.
constexpr int64_t kMostTerms = 64;

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

// A sum of a thread: loops, each all of the one before, around one statement
// whose target moves along none of them.
struct ThreadSum {
  std::vector<NestLoop> loops;
  BufferId target;
};

std::vector<ThreadSum> SumsOf(const Block& body) {
  std::vector<ThreadSum> sums;
  for (const Stmt& stmt : body.stmts) {
    const For* outermost = std::get_if<For>(&stmt);
    if (outermost == nullptr) continue;
    const std::vector<const For*> chain = LoopChain(*outermost);
    const std::vector<Stmt>& stmts = chain.back()->body.stmts;
    const Set* set = stmts.size() == 1 ? std::get_if<Set>(&stmts[0]) : nullptr;
    if (set == nullptr) continue;
    ThreadSum sum{.loops = {}, .target = set->target.buffer};
    for (const For* loop : chain) {
      if (loop->kind != LoopKind::kFor ||
          MovesAlong(set->target, loop->iterator)) {
        break;
      }
      sum.loops.push_back({loop->iterator, loop->extent});
    }
    if (sum.loops.size() == chain.size()) sums.push_back(std::move(sum));
  }
  return sums;
}

// The terms that a thread reads at once, so that `threads` of them have enough
// bytes on their way. More would be more registers than a thread has.
int64_t TermsAtOnce(double threads, const GpuTarget& target) {
  constexpr double kBytesOfTerm = 4;
  const double bytes =
      static_cast<double>(target.bytes_in_flight * target.multiprocessors);
  return std::clamp(static_cast<int64_t>(bytes / (threads * kBytesOfTerm)),
                    target.steps, kMostTerms);
}

// The innermost loops, with at most so many iterations in all, become `unroll`.
// A remainder of the outermost of these does too.
absl::Status UnrollTerms(Rewriter& rewriter, const ThreadSum& sum,
                         int64_t terms) {
  for (size_t k = sum.loops.size(); k-- > 0 && terms > 1;) {
    const NestLoop& loop = sum.loops[k];
    std::vector<IteratorId> unrolled = {loop.iterator};
    if (loop.extent > terms) {
      int64_t size = GreatestDivisor(loop.extent, terms);
      if (2 * size <= terms) size = terms;
      OCANNL_ASSIGN_OR_RETURN(unrolled, rewriter.Split(loop.iterator, size));
    }
    for (IteratorId each : unrolled) {
      OCANNL_RETURN_IF_ERROR(rewriter.Bind(each, LoopKind::kUnroll));
    }
    terms /= loop.extent;
  }
  return absl::OkStatus();
}

// A sum that a thread makes is in a register meanwhile, and its next terms are
// on their way.
absl::Status PlanSums(Rewriter& rewriter, size_t at,
                      const std::vector<NestLoop>& loops,
                      const GpuTarget& target) {
  const LoopProgram& program = rewriter.program();
  const int64_t terms = TermsAtOnce(Iterations(loops), target);
  for (const ThreadSum& sum : SumsOf(BodyOf(program, at, loops.size()))) {
    const IteratorId loop = sum.loops.front().iterator;
    const Buffer& buffer = program.buffers[sum.target];
    if (buffer.role != Role::kPrivate) {
      rewriter.Privatize(std::string(buffer.name), loop, loop).IgnoreError();
    }
    OCANNL_RETURN_IF_ERROR(UnrollTerms(rewriter, sum, terms));
  }
  return absl::OkStatus();
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
  OCANNL_RETURN_IF_ERROR(PlanSums(rewriter, at, loops, target));
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
