// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/schedule_gpu.h"

#include <utility>
#include <vector>

#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::gpu {
namespace {

// Loops around the threads that strip mining adds.
constexpr int kMoreLoops = 2;

class GpuScheduler {
 public:
  GpuScheduler(LoopProgram program, const GpuTarget& target)
      : program_(std::move(program)),
        threads_(target.threads),
        next_iterator_(NextIterator(program_)) {}

  LoopProgram Run() {
    std::vector<Stmt> done;
    std::vector<Stmt>& stmts = program_.body.stmts;
    for (Stmt& stmt : stmts) {
      if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
        stmt = LoopsOf(*zero);
      }
    }
    for (Stmt& stmt : stmts) {
      // The statements stay where they are: dependences are of the program.
      const std::vector<For*> parallel = ParallelLoops(stmt);
      if (parallel.empty()) {
        done.push_back(stmt);
      } else {
        Bind(parallel, done);
      }
    }
    stmts = std::move(done);
    return std::move(program_);
  }

 private:
  // Every cell is set to 0.
  Stmt LoopsOf(const ZeroOut& zero) {
    const Buffer& buffer = program_.buffers[zero.buffer];
    if (static_cast<int>(buffer.dims.size()) > kMaxLoopDepth - kMoreLoops) {
      return zero;
    }
    Set set{{zero.buffer, {}}, program_.exprs.Add(Constant{buffer.dtype, 0})};
    std::vector<For> loops;
    for (int64_t extent : buffer.dims) {
      loops.push_back({LoopKind::kFor, next_iterator_++, extent, {}});
      set.target.indices.push_back(Iterator(loops.back().iterator));
    }
    Stmt stmt = std::move(set);
    for (; !loops.empty(); loops.pop_back()) {
      loops.back().body.stmts.push_back(std::move(stmt));
      stmt = std::move(loops.back());
    }
    return stmt;
  }

  // The perfectly nested parallel loops from the outermost one on; none where
  // the nest is to stay.
  std::vector<For*> ParallelLoops(Stmt& stmt) {
    For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || loop->kind == LoopKind::kGrid ||
        rewrite::LoopDepthOf(loop->body) + 1 > kMaxLoopDepth - kMoreLoops) {
      return {};
    }
    Unschedule(*loop);
    std::vector<For*> loops;
    for (; loop != nullptr && IsParallel(program_, *loop);
         loop = OnlyLoopIn(*loop)) {
      loops.push_back(loop);
    }
    return loops;
  }

  // `par` and `vec` loops are those of another target.
  void Unschedule(For& loop) {
    if (loop.kind != LoopKind::kUnroll) loop.kind = LoopKind::kFor;
    for (Stmt& stmt : loop.body.stmts) {
      if (For* inner = std::get_if<For>(&stmt)) Unschedule(*inner);
    }
  }

  // Adds the nest of `loops` to `done`, one of threads, the others of blocks.
  void Bind(const std::vector<For*>& loops, std::vector<Stmt>& done) {
    std::vector<Stmt> phases = StripMine(*loops.back());
    if (loops.size() > 1) {
      for (For* loop : loops) loop->kind = LoopKind::kGrid;
      loops[loops.size() - 2]->body.stmts = std::move(phases);
      done.push_back(std::move(*loops.front()));
      return;
    }
    // Strips are independent, so they are blocks.
    for (Stmt& phase : phases) {
      For& loop = std::get<For>(phase);
      if (loop.kind == LoopKind::kThread) {
        phase = For{LoopKind::kGrid, next_iterator_++, 1, {{std::move(loop)}}};
      } else {
        loop.kind = LoopKind::kGrid;
      }
      done.push_back(std::move(phase));
    }
  }

  // A loop over strips around one over the threads, and one over the threads
  // that the remainder has.
  std::vector<Stmt> StripMine(const For& loop) {
    For threads = loop;
    threads.kind = LoopKind::kThread;
    if (loop.extent <= threads_) return {std::move(threads)};
    std::vector<Stmt> phases;
    const int64_t strips = loop.extent / threads_;
    const For strip{LoopKind::kFor, next_iterator_++, strips, {}};
    threads.iterator = next_iterator_++;
    threads.extent = threads_;
    rewrite::Substitute(program_, threads.body, loop.iterator,
                        threads_ * Affine(Iterator(strip.iterator)) +
                            Affine(Iterator(threads.iterator)));
    phases.push_back(strip);
    std::get<For>(phases.back()).body.stmts.push_back(std::move(threads));
    if (loop.extent % threads_ == 0) return phases;
    For rest{LoopKind::kThread, next_iterator_++, loop.extent % threads_, {}};
    rest.body = rewrite::Copy(program_, loop.body, next_iterator_,
                              /*copies_privates=*/true);
    WalkLoops(rest.body, [&](const For&) { next_iterator_++; });
    rewrite::Substitute(program_, rest.body, loop.iterator,
                        Affine(Iterator(rest.iterator)) + strips * threads_);
    phases.push_back(std::move(rest));
    return phases;
  }

  LoopProgram program_;
  const int64_t threads_;
  IteratorId next_iterator_;
};

}  // namespace

LoopProgram ScheduleGpu(LoopProgram program, const GpuTarget& target) {
  return GpuScheduler(std::move(program), target).Run();
}

}  // namespace ocannl::gpu
