// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/block_sum.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "ocannl/core/schedule/cpu/tiling/plan.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl {
namespace {

// Where an access has one iterator for each axis, those; else none.
std::optional<std::vector<IteratorId>> AxisLoops(const Access& access) {
  std::vector<IteratorId> loops;
  for (const Affine& index : access.indices) {
    if (index.terms().size() != 1) return std::nullopt;
    const Symbol symbol = index.terms()[0].symbol;
    if (symbol.kind == Symbol::kStatic || !(index == Affine(symbol))) {
      return std::nullopt;
    }
    loops.push_back(symbol.iterator());
  }
  return loops;
}

// `sum` over the loops of `nest`, which have the same extents, if it reads the
// cell that `nest` writes.
std::optional<Set> OverLoopsOf(LoopProgram& program, const PerfectNest& nest,
                               const PerfectNest& sum,
                               const std::vector<NestLoop>& loops) {
  const std::vector<Access> reads = OperandsOf(program, sum);
  if (reads.size() != 1 || reads[0].buffer != nest.set.target.buffer) {
    return std::nullopt;
  }
  const auto cells = AxisLoops(nest.set.target);
  const auto read = AxisLoops(reads[0]);
  if (!cells || !read || loops.size() != nest.outputs.size()) {
    return std::nullopt;
  }
  rewrite::IteratorMap places;
  for (size_t k = 0; k < loops.size(); ++k) {
    const NestLoop& output = nest.outputs[k];
    const auto axis = absl::c_find(*read, loops[k].iterator);
    if (loops[k].extent != output.extent || axis == read->end() ||
        (*cells)[axis - read->begin()] != output.iterator) {
      return std::nullopt;
    }
    places[loops[k].iterator] = Iterator(output.iterator);
  }
  Stmt stmt = sum.set;
  rewrite::Substitute(program, stmt, places);
  return std::get<Set>(std::move(stmt));
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
