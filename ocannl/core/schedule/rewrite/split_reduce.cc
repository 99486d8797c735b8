// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/split_reduce.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/assign/sums/find_lanes.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {
namespace {

// The operation by which `set` accumulates what its target does not tell:
// y := y + x, y := fma(a, b, y).
std::optional<Op> AccumulationOf(const LoopProgram& program, const Set& set) {
  const auto* apply = std::get_if<Apply>(&program.exprs[set.value]);
  if (apply == nullptr) return std::nullopt;
  const bool fma = apply->op == Op::kFma;
  constexpr Op kOps[] = {Op::kAdd, Op::kMul,     Op::kMin,
                         Op::kMax, Op::kMinimum, Op::kMaximum};
  if (!fma && !absl::c_linear_search(kOps, apply->op)) return std::nullopt;
  // One argument is the target's cell; the others have nothing of its buffer.
  std::vector<ExprId> args;
  for (ExprId arg : apply->args) {
    const bool reads =
        absl::c_any_of(ReadsOf(program, arg),
                       [&](const Access& read) {
                         return read.buffer == set.target.buffer;
                       }) ||
        absl::c_linear_search(LookedUpBy(program, arg), set.target.buffer);
    if (reads) args.push_back(arg);
  }
  if (args.size() != 1 || (fma && args[0] != apply->args[2])) {
    return std::nullopt;
  }
  const auto* leaf = std::get_if<Leaf>(&program.exprs[args[0]]);
  if (leaf == nullptr || program.At(*leaf) != LeafValue(set.target)) {
    return std::nullopt;
  }
  return fma ? Op::kAdd : apply->op;
}

// The indices with loop k of the nest as Iterator({k}), as FindLanes has it;
// loops around the nest do not move.
Indices InNest(const Access& access, const std::vector<IteratorId>& iterators) {
  Indices indices;
  for (const Affine& index : access.indices) {
    indices.push_back(index.Substitute([&](Symbol symbol) -> Affine {
      if (symbol.kind == Symbol::kStatic) return symbol;
      const auto found = absl::c_find(iterators, symbol.iterator());
      const auto place = static_cast<int32_t>(found - iterators.begin());
      return found == iterators.end() ? Static(0) : Iterator({place});
    }));
  }
  return indices;
}

}  // namespace

absl::Status SplitReduce(LoopProgram& program, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  std::vector<IteratorId> iterators;
  std::vector<int64_t> extents;
  const Stmt* at = &site.block->stmts[site.at];
  while (const For* inner = std::get_if<For>(at)) {
    if (inner->kind != LoopKind::kFor || inner->body.stmts.size() != 1) break;
    iterators.push_back(inner->iterator);
    extents.push_back(inner->extent);
    at = &inner->body.stmts[0];
  }
  const Set* set = std::get_if<Set>(at);
  const std::optional<Op> accum =
      set == nullptr ? std::nullopt : AccumulationOf(program, *set);
  if (!accum || !IsFloat(program.buffers[set->target.buffer].dtype)) {
    return UserError("the loop over ", Name(loop),
                     " is no sum, product or extreme of floats: `for` loops "
                     "around y := y + x");
  }
  std::vector<Indices> indices = {InNest(set->target, iterators)};
  std::vector<BufferId> buffers = {set->target.buffer};
  WalkReads(program, set->value, [&](const Access& read) {
    if (read == set->target) return;
    indices.push_back(InNest(read, iterators));
    buffers.push_back(read.buffer);
  });
  std::vector<AxisAccess> accesses;
  for (size_t k = 0; k < indices.size(); ++k) {
    accesses.push_back({indices[k], program.buffers[buffers[k]].dims});
  }
  const std::optional<LaneSplit> lanes =
      FindLanes(extents, accesses[0], {accesses.begin() + 1, accesses.end()});
  if (!lanes) {
    return UserError("the loop over ", Name(loop), " reduces no run of cells ",
                     "side by side, or is accumulated in order");
  }
  const Reduction reduction{.iterators = std::move(iterators),
                            .extents = std::move(extents),
                            .set = *set,
                            .accum = *accum,
                            .first = false};
  Stmt split =
      ocannl::SplitReduce(program, reduction, *lanes, program.next_iterator);
  site.block->stmts[site.at] = std::move(split);
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
