// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/block_sum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "ocannl/core/schedule/cpu/tiling/plan.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl {
namespace {

// Partial sums are stored, so that blocks are parallel, up to so many bytes for
// each cycle of products. With them, `bazel run //experiments:bench --
// --filter=net/resnet` takes 0.99 of the time with one thread, 0.95 with two.
constexpr double kMaxBytesPerCycle = 0.25;

// The loops of `sum` in the order of those of `nest`, whose cells it adds up;
// nullopt: it does not, or not over the last one of them.
std::optional<std::vector<NestLoop>> LoopsLike(const PerfectNest& nest,
                                               const Access& read,
                                               const PerfectNest& sum) {
  const Access& cell = nest.set.target;
  if (read.buffer != cell.buffer || sum.reduced.size() != 1 ||
      sum.outputs.size() + 1 != nest.outputs.size() ||
      cell.indices.size() != nest.outputs.size()) {
    return std::nullopt;
  }
  std::vector<NestLoop> all = sum.outputs;
  all.push_back(sum.reduced[0]);
  std::vector<NestLoop> loops;
  for (const NestLoop& output : nest.outputs) {
    const auto axis =
        absl::c_find(cell.indices, Affine(Iterator(output.iterator)));
    if (axis == cell.indices.end()) return std::nullopt;
    const Affine& index = read.indices[axis - cell.indices.begin()];
    const auto loop = absl::c_find_if(all, [&](const NestLoop& each) {
      return index == Iterator(each.iterator) && each.extent == output.extent;
    });
    if (loop == all.end()) return std::nullopt;
    loops.push_back(*loop);
  }
  if (loops.back().iterator != sum.reduced[0].iterator) return std::nullopt;
  return loops;
}

// The statement of `sum` in the nest whose loops are like `loops`.
Set InLoopsOf(LoopProgram& program, const PerfectNest& nest,
              const PerfectNest& sum, const std::vector<NestLoop>& loops) {
  rewrite::IteratorMap places;
  for (size_t k = 0; k < loops.size(); ++k) {
    places[loops[k].iterator] = Iterator(nest.outputs[k].iterator);
  }
  Stmt stmt = sum.set;
  rewrite::Substitute(program, stmt, places);
  return std::get<Set>(std::move(stmt));
}

int64_t BytesOf(const LoopProgram& program, BufferId id) {
  const Buffer& buffer = program.buffers[id];
  return NumElements(buffer.dims) * SizeOf(buffer.dtype);
}

// The bytes that the access reaches in the loops, at most.
double BytesIn(const LoopProgram& program, const Access& access,
               absl::Span<const NestLoop> loops) {
  double cells = 1;  // as many as there are points
  double span = 1;   // from the first to the last one
  for (const NestLoop& loop : loops) {
    const int64_t stride = StrideOf(program, access, loop.iterator);
    if (stride == 0) continue;
    cells *= static_cast<double>(loop.extent);
    span += static_cast<double>(std::abs(stride) * (loop.extent - 1));
  }
  return std::min(cells, span) *
         static_cast<double>(SizeOfCell(program, access));
}

// Whether blocks had better run outside of the outer loops, but for the first
// one: what a block reads stays in L2 while these run, and what all blocks read
// does not.
bool RunsOutside(const LoopProgram& program, const PerfectNest& block,
                 const ContractPlan& plan, int64_t blocks,
                 const Target& target) {
  if (plan.loops.outer.size() < 2) return false;
  const absl::Span<const NestLoop> outer =
      absl::MakeSpan(plan.loops.outer).subspan(1);
  // The loops that run at each point of `outer`.
  std::vector<NestLoop> once = block.reduced;
  for (const NestLoop& loop : block.outputs) {
    if (absl::c_none_of(plan.loops.outer, [&](const NestLoop& each) {
          return each.iterator == loop.iterator;
        })) {
      once.push_back(loop);
    }
  }
  std::vector<NestLoop> all = once;
  all.insert(all.end(), outer.begin(), outer.end());
  double read = 0;      // bytes of a block, each once
  double streamed = 0;  // at each point of `outer`
  for (const Access& operand : OperandsOf(program, block)) {
    read += BytesIn(program, operand, all);
    streamed += BytesIn(program, operand, once);
  }
  for (const NestLoop& loop : outer) {
    streamed *= static_cast<double>(loop.extent);
  }
  const double written = BytesIn(program, block.set.target, all);
  const auto cache = static_cast<double>(target.l2_bytes) / 2;
  return streamed >= 2 * read && read + written <= cache &&
         read * static_cast<double>(blocks) > cache;
}

// Tiles that may be parallel where there are no outer loops.
int64_t CountTiles(const RegisterBlocks& tiles) {
  return tiles.n[0].count > 1 ? tiles.n[0].count : tiles.m[0].count;
}

// Whether the loops around blocks have too few iterations for all threads, and
// the partial sums, of so many bytes, take little time to store.
bool BlocksAreBetterParallel(const ContractPlan& plan, int64_t blocks,
                             int64_t bytes, double cycles,
                             const Target& target) {
  if (plan.loops.outer.empty()) {
    return bytes <= target.l2_bytes / 2 && CountTiles(plan.tiles) < blocks;
  }
  return plan.loops.outer[0].extent < target.threads &&
         blocks >= target.threads &&
         static_cast<double>(bytes) <= kMaxBytesPerCycle * cycles;
}

}  // namespace

std::optional<BlockSum> PlanBlockSum(LoopProgram& program,
                                     const PerfectNest& nest,
                                     const CanonicalNest& next,
                                     const Target& target) {
  const auto* sum = std::get_if<PerfectNest>(&next);
  if (sum == nullptr || nest.outputs.size() < 2 ||
      !rewrite::CoversBuffer(program, nest.set.target, nest.outputs)) {
    return std::nullopt;
  }
  const std::vector<Access> reads = OperandsOf(program, *sum);
  if (reads.size() != 1) return std::nullopt;
  std::optional<std::vector<NestLoop>> loops = LoopsLike(nest, reads[0], *sum);
  if (!loops) return std::nullopt;
  PerfectNest block = nest;
  const NestLoop blocks = nest.outputs.back();
  block.outputs.pop_back();
  ContractPlan plan = PlanContract(program, block, target);
  if (plan.has_k_blocks() || !plan.loops.n.iterator.valid()) {
    return std::nullopt;
  }
  const int64_t bytes = BytesOf(program, nest.set.target.buffer);
  const double cycles = plan.tiles.cycles * Iterations(plan.loops.outer) *
                        static_cast<double>(blocks.extent);
  if (BlocksAreBetterParallel(plan, blocks.extent, bytes, cycles, target)) {
    return std::nullopt;
  }
  // A is packed once, for all blocks.
  if (plan.packed_a && BytesOf(program, plan.packed_a->buffer) > bytes) {
    return std::nullopt;
  }
  plan.cascade = blocks;
  plan.blocks.k_outside_tiles =
      RunsOutside(program, block, plan, blocks.extent, target);
  plan.is_parallel = cycles > kMinParallelCycles;
  Set add = InLoopsOf(program, nest, *sum, *loops);
  return BlockSum{.loops = *std::move(loops),
                  .contraction = {.nest = std::move(block),
                                  .plan = std::move(plan),
                                  .epilogue = {.beta_is_zero = true,
                                               .sets = {std::move(add)}}}};
}

}  // namespace ocannl
