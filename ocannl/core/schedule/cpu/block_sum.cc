// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/block_sum.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "ocannl/core/schedule/cpu/tiling/plan.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl {
namespace {

// `sum` over the loops of `nest`, which have the same extents, if it reads the
// cell that `nest` writes.
std::optional<Set> OverLoopsOf(LoopProgram& program, const PerfectNest& nest,
                               const PerfectNest& sum,
                               const std::vector<NestLoop>& loops) {
  const Access& cell = nest.set.target;
  const std::vector<Access> reads = OperandsOf(program, sum);
  if (reads.size() != 1 || reads[0].buffer != cell.buffer ||
      loops.size() != nest.outputs.size() ||
      loops.size() != cell.indices.size()) {
    return std::nullopt;
  }
  rewrite::IteratorMap places;
  for (size_t k = 0; k < loops.size(); ++k) {
    if (loops[k].extent != nest.outputs[k].extent) return std::nullopt;
    places[loops[k].iterator] = Iterator(nest.outputs[k].iterator);
  }
  PerfectNest moved = sum;
  Stmt stmt = sum.set;
  rewrite::Substitute(program, stmt, places);
  moved.set = std::get<Set>(std::move(stmt));
  if (OperandsOf(program, moved)[0] != cell) return std::nullopt;
  return std::move(moved.set);
}

// Iterations of the loop of the plan that would be parallel.
int64_t ParallelTiles(const ContractPlan& plan) {
  if (!plan.loops.outer.empty()) return plan.loops.outer[0].extent;
  const int64_t panels = plan.tiles.n[0].count;
  return panels > 1 ? panels : plan.tiles.m[0].count;
}

}  // namespace

std::optional<BlockSum> PlanBlockSum(LoopProgram& program,
                                     const PerfectNest& nest,
                                     const CanonicalNest& next,
                                     const Target& target) {
  const auto* sum = std::get_if<PerfectNest>(&next);
  if (sum == nullptr || sum->reduced.size() != 1 || nest.outputs.size() < 2 ||
      !rewrite::CoversBuffer(program, nest.set.target, nest.outputs)) {
    return std::nullopt;
  }
  std::vector<NestLoop> loops = sum->outputs;
  loops.push_back(sum->reduced[0]);
  std::optional<Set> add = OverLoopsOf(program, nest, *sum, loops);
  if (!add) return std::nullopt;
  PerfectNest block = nest;
  const NestLoop blocks = nest.outputs.back();
  block.outputs.pop_back();
  ContractPlan plan = PlanContract(program, block, target);
  if (plan.has_k_blocks() || !plan.loops.n.iterator.valid()) {
    return std::nullopt;
  }
  const int64_t bytes =
      NumElements(program.buffers[nest.set.target.buffer].dims) *
      SizeOfCell(program, nest.set.target);
  if (bytes <= target.l2_bytes / 2 && ParallelTiles(plan) < blocks.extent) {
    return std::nullopt;
  }
  plan.cascade = blocks;
  plan.is_parallel = plan.tiles.cycles * Iterations(plan.loops.outer) *
                         static_cast<double>(blocks.extent) >
                     kMinParallelCycles;
  return BlockSum{.loops = std::move(loops),
                  .contraction = {.nest = std::move(block),
                                  .plan = std::move(plan),
                                  .epilogue = {.beta_is_zero = true,
                                               .sets = {*std::move(add)}}}};
}

}  // namespace ocannl
