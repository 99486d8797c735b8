// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/plan_product.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/gpu/plan_map.h"
#include "ocannl/core/schedule/gpu/product_tiles.h"
#include "ocannl/core/schedule/nests/product.h"

namespace ocannl::gpu {
namespace {

using rewrite::NewLoops;
using rewrite::Rewriter;

constexpr int64_t kGroup = 4;           // cells that are read at once
constexpr int64_t kLeastTiles = 3;      // none has measured it
constexpr int64_t kMostUnrolled = 512;  // operations of a loop's body
constexpr int64_t kMostSteps = 32;      // of these

class ProductPlanner {
 public:
  ProductPlanner(Rewriter& rewriter, size_t at, const Product& product,
                 const ProductTile& tile, int64_t copies)
      : rewriter_(rewriter),
        at_(at),
        product_(product),
        tile_(tile),
        copies_(copies) {}

  absl::Status Run() {
    OCANNL_RETURN_IF_ERROR(CutRests());
    OCANNL_RETURN_IF_ERROR(SplitOutputs());
    OCANNL_RETURN_IF_ERROR(DistributeStatements());
    OCANNL_RETURN_IF_ERROR(UnrollOthers());
    OCANNL_RETURN_IF_ERROR(BlockReduction());
    OCANNL_RETURN_IF_ERROR(KeepResults());
    OCANNL_RETURN_IF_ERROR(BindLoops());
    OCANNL_RETURN_IF_ERROR(StageOperands());
    for (IteratorId steps : steps_) {
      OCANNL_RETURN_IF_ERROR(UnrollSteps(steps));
    }
    PrefetchTiles();
    return absl::OkStatus();
  }

 private:
  const LoopProgram& program() const { return rewriter_.program(); }

  // Gives the loop over a strip.
  absl::StatusOr<IteratorId> Split(IteratorId loop, int64_t size) {
    OCANNL_ASSIGN_OR_RETURN(const NewLoops made, rewriter_.Split(loop, size));
    return made[0];
  }

  absl::Status CutRests() {
    for (const auto* parts : {&tile_.columns, &tile_.rows}) {
      for (const TilePart& part : *parts) {
        const int64_t rest = part.loop.extent % part.size;
        if (rest == 0) continue;
        size_t which = 0;
        while (product_.outputs[which].iterator != part.loop.iterator) ++which;
        OCANNL_RETURN_IF_ERROR(CutNest(rewriter_, product_.outputs, which,
                                       part.loop.extent - rest));
      }
    }
    return absl::OkStatus();
  }

  // Blocks around threads around registers.
  absl::Status SplitOutputs() {
    for (const NestLoop& loop : product_.outputs) {
      grid_.push_back(loop.iterator);
    }
    std::vector<IteratorId> threads;
    std::vector<IteratorId> registers;
    for (const auto* parts : {&tile_.rows, &tile_.columns}) {
      const auto outer = static_cast<int64_t>(threads.size());
      for (const TilePart& part : *parts) {
        OCANNL_ASSIGN_OR_RETURN(IteratorId inner,
                                Split(part.loop.iterator, part.size));
        int64_t own = part.registers;
        // Neighbours read neighbouring groups, so that no bank has two.
        if (parts == &tile_.columns && own > kGroup && own % kGroup == 0) {
          registers.push_back(inner);
          OCANNL_ASSIGN_OR_RETURN(inner,
                                  Split(inner, part.size / (own / kGroup)));
          own = kGroup;
        }
        threads.insert(threads.begin() + outer, inner);
        if (own == 1) continue;
        OCANNL_ASSIGN_OR_RETURN(const IteratorId cells, Split(inner, own));
        registers.push_back(cells);
      }
    }
    threads_ = threads.size();
    registers_ = registers.size();
    std::vector<IteratorId> order = grid_;
    order.insert(order.end(), threads.begin(), threads.end());
    order.insert(order.end(), registers.begin(), registers.end());
    return rewriter_.Reorder(order);
  }

  const Block& BlockBody() const {
    return BodyOf(program(), at_, grid_.size());
  }

  // The loops of a statement of the block, each all that is in the one before.
  std::vector<IteratorId> LoopsOf(size_t k) const {
    return IteratorsOf(LoopChain(std::get<For>(BlockBody().stmts[k])));
  }

  const For& LoopOver(IteratorId iterator) const {
    const For* found = nullptr;
    WalkLoops(program().body, [&](const For& loop) {
      if (loop.iterator == iterator) found = &loop;
    });
    return *found;
  }

  // A nest of threads and registers for each statement.
  absl::Status DistributeStatements() {
    if (product_.statements == 1) return absl::OkStatus();
    std::vector<IteratorId> loops = LoopsOf(0);
    loops.resize(threads_ + registers_);
    for (; !loops.empty(); loops.pop_back()) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Distribute(loops.back()));
    }
    return absl::OkStatus();
  }

  // `loops`, each with all that is in it but the next ones, once for each
  // register.
  absl::Status Unroll(absl::Span<const IteratorId> loops) {
    for (IteratorId loop : loops) {
      OCANNL_RETURN_IF_ERROR(rewriter_.UnrollJam(loop, LoopOver(loop).extent));
    }
    return absl::OkStatus();
  }

  absl::Status UnrollOthers() {
    for (size_t k = 0; k < product_.statements; ++k) {
      if (k == product_.sum) continue;
      const std::vector<IteratorId> chain = LoopsOf(k);
      OCANNL_RETURN_IF_ERROR(
          Unroll(absl::MakeSpan(chain).subspan(threads_, registers_)));
    }
    return absl::OkStatus();
  }

  // Steps of the reduction around the threads and a few in each.
  absl::Status BlockReduction() {
    int64_t room = tile_.steps;
    const std::vector<IteratorId> chain = LoopsOf(product_.sum);
    const auto outputs =
        chain.begin() + static_cast<int64_t>(threads_ + registers_);
    std::vector<IteratorId> order(outputs, chain.end());
    order.insert(order.end(), chain.begin(), outputs);
    OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(order));
    size_t step = product_.reduced.size() - 1;
    while (step > 0 && product_.reduced[step].extent <= room) {
      room /= product_.reduced[step--].extent;
    }
    const int64_t extent = product_.reduced[step].extent;
    int64_t size = std::min(room, extent);
    while (extent % size != 0) --size;
    if (2 * size <= std::min(room, extent)) size = std::min(room, extent);
    const IteratorId steps = order[step];
    const size_t inner = product_.reduced.size() - step - 1;
    OCANNL_ASSIGN_OR_RETURN(const NewLoops made, rewriter_.Split(steps, size));
    OCANNL_RETURN_IF_ERROR(PutThreadsFirst(steps, made[0], inner));
    if (extent % size == 0) return absl::OkStatus();
    OCANNL_ASSIGN_OR_RETURN(const IteratorId last,
                            Split(made[1], extent % size));
    return PutThreadsFirst(made[1], last, inner);
  }

  // In `steps`, the threads outside of the loop `step` and `inner` more.
  absl::Status PutThreadsFirst(IteratorId steps, IteratorId step,
                               size_t inner) {
    const std::vector<IteratorId> chain =
        IteratorsOf(LoopChain(LoopOver(step)));
    const auto threads = chain.begin() + 1 + static_cast<int64_t>(inner);
    const auto registers = threads + static_cast<int64_t>(threads_);
    std::vector<IteratorId> order(threads, registers);
    bound_.insert(bound_.end(), order.begin(), order.end());
    order.insert(order.end(), chain.begin(), threads);
    order.insert(order.end(), registers, chain.end());
    staged_.push_back(steps);
    OCANNL_RETURN_IF_ERROR(rewriter_.Reorder(order));
    const size_t outputs = order.size() - registers_;
    OCANNL_RETURN_IF_ERROR(Unroll(absl::MakeSpan(order).subspan(outputs)));
    steps_.push_back(order[outputs - 1]);
    return absl::OkStatus();
  }

  // Some steps one after the other: what counts them is then little beside
  // them.
  absl::Status UnrollSteps(IteratorId steps) {
    int64_t all = 1;  // operations of a step
    const int64_t extent = LoopOver(steps).extent;
    WalkLoops(LoopOver(steps).body,
              [&](const For& inner) { all *= inner.extent; });
    int64_t count = std::clamp<int64_t>(kMostUnrolled / all, 1,
                                        std::min(extent, kMostSteps));
    while (extent % count != 0) --count;
    if (count == 1) return absl::OkStatus();
    if (count < extent) {
      OCANNL_ASSIGN_OR_RETURN(steps, Split(steps, count));
    }
    return rewriter_.Bind(steps, LoopKind::kUnroll);
  }

  // In registers from the first statement to the last.
  absl::Status KeepResults() {
    const std::vector<Stmt>& stmts = BlockBody().stmts;
    return rewriter_.Privatize(program().buffers[product_.result.buffer].name,
                               std::get<For>(stmts.front()).iterator,
                               std::get<For>(stmts.back()).iterator);
  }

  absl::Status BindLoops() {
    std::vector<IteratorId> threads = bound_;
    for (size_t k = 0; k < BlockBody().stmts.size(); ++k) {
      const std::vector<IteratorId> chain = LoopsOf(k);
      const bool is_sum = chain[0] == product_.reduced[0].iterator ||
                          absl::c_linear_search(staged_, chain[0]);
      if (is_sum) continue;
      threads.insert(threads.end(), chain.begin(),
                     chain.begin() + static_cast<int64_t>(threads_));
    }
    for (IteratorId loop : grid_) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Bind(loop, LoopKind::kGrid));
    }
    for (IteratorId loop : threads) {
      OCANNL_RETURN_IF_ERROR(rewriter_.Bind(loop, LoopKind::kThread));
    }
    return absl::OkStatus();
  }

  absl::Status StageOperands() {
    for (IteratorId steps : staged_) {
      for (const Access& operand : product_.operands) {
        OCANNL_RETURN_IF_ERROR(rewriter_.Stage(
            program().buffers[operand.buffer].name, steps, copies_));
      }
    }
    return absl::OkStatus();
  }

  // Where there are enough of them to wait for.
  void PrefetchTiles() {
    for (IteratorId steps : staged_) {
      if (LoopOver(steps).extent < kLeastTiles) continue;
      rewriter_.Prefetch(steps).IgnoreError();
    }
  }

  Rewriter& rewriter_;
  const size_t at_;
  const Product& product_;
  const ProductTile& tile_;
  const int64_t copies_;  // threads that copy; 0: those that compute
  std::vector<IteratorId> grid_;
  size_t threads_ = 0;              // how many loops
  size_t registers_ = 0;            // the same
  std::vector<IteratorId> bound_;   // threads of the sum
  std::vector<IteratorId> staged_;  // loops over blocks of steps
  std::vector<IteratorId> steps_;   // innermost ones of a thread
};

// Error: the statement needs more memory than threads or blocks have.
absl::Status CheckMemory(const LoopProgram& program, size_t at,
                         const GpuTarget& target) {
  const auto& grid = std::get<For>(program.body.stmts[at]);
  // Distributing may part what is in registers from its use.
  for (BufferId id : EffectsOf(program, grid).writes) {
    if (program.buffers[id].role != Role::kPrivate) continue;
    OCANNL_RETURN_IF_ERROR(ThreadAxes(program, grid.body, id).status());
  }
  return SharedBytes(program, grid.body) <= target.shared_bytes
             ? absl::OkStatus()
             : absl::ResourceExhaustedError("shared memory");
}

}  // namespace

bool PlanProduct(Rewriter& rewriter, size_t at, const GpuTarget& target,
                 bool cuts) {
  const std::optional<Product> product = AsProduct(rewriter.program(), at);
  if (!product ||
      Iterations(product->reduced) < static_cast<double>(target.steps)) {
    return false;
  }
  const std::vector<ProductTile> tiles = TilesOf(*product, target, cuts);
  return absl::c_any_of(tiles, [&](const ProductTile& tile) {
    Rewriter::Savepoint before(rewriter);
    // Where few threads compute, more of them copy.
    const int64_t copies =
        2 * tile.threads() > target.threads ? 0 : target.threads;
    absl::Status status =
        ProductPlanner(rewriter, at, *product, tile, copies).Run();
    if (status.ok()) status = CheckMemory(rewriter.program(), at, target);
    if (!status.ok()) before.RollBack();
    return status.ok();
  });
}

}  // namespace ocannl::gpu
