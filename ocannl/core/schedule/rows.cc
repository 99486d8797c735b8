// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rows.h"

#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/cost.h"
#include "ocannl/core/schedule/map.h"
#include "ocannl/core/schedule/nest_rewriter.h"
#include "ocannl/core/schedule/tiling/plan.h"

namespace ocannl {
namespace {

bool Reduces(const LoopProgram& program, const For& loop) {
  bool reduces = false;
  WalkStmts(loop.body, [&](const Stmt& stmt) {
    const Set* set = std::get_if<Set>(&stmt);
    reduces |= set != nullptr &&
               program.buffers[set->target.buffer].role == Role::kPrivate;
  });
  return reduces;
}

// A loop over rows that reduces each, or assigns to its cells.
struct Member {
  For loop;                        // without unit loops in it, of a map
  std::optional<PerfectNest> map;  // with the rows as its outermost loop
};

class RowFuser {
 public:
  RowFuser(NestWriter& writer, const Target& target)
      : writer_(writer), target_(target) {}

  std::optional<FusedRows> Fuse(absl::Span<const Stmt> stmts) {
    std::optional<Member> first = AsMember(stmts, 0);
    if (!first) return std::nullopt;
    NestRewriter rewriter(writer_, first->loop);
    std::vector<Member> members = {*std::move(first)};
    size_t count = 1;
    for (size_t k = 1; k < stmts.size(); ++k) {
      if (std::holds_alternative<Comment>(stmts[k])) continue;
      std::optional<Member> next = AsMember(stmts, k);
      if (!next || !rewriter.TryFuse(members[0].loop.iterator, next->loop))
        break;
      members.push_back(*std::move(next));
      count = k + 1;
    }
    const bool is_fused =
        members.size() > 1 && absl::c_any_of(members, [](const Member& member) {
          return !member.map;
        });
    Block block;
    std::move(rewriter).MoveTo(block);
    if (!is_fused) return std::nullopt;
    FusedRows rows{.loop = std::get<For>(std::move(block.stmts[0])),
                   .count = count,
                   .maps = {},
                   .is_parallel = Cycles(members) > kMinParallelCycles};
    for (Member& member : members) {
      if (!member.map) continue;
      member.map->outputs.erase(member.map->outputs.begin());
      if (FindLaneLoop(writer_.program(), *member.map) < 0) continue;
      rows.maps.push_back(*std::move(member.map));
    }
    return rows;
  }

 private:
  std::optional<Member> AsMember(absl::Span<const Stmt> stmts, size_t at) {
    const For* loop =
        at < stmts.size() ? std::get_if<For>(&stmts[at]) : nullptr;
    if (loop == nullptr || loop->extent == 1 ||
        !IsParallel(writer_.program(), *loop)) {
      return std::nullopt;
    }
    if (Reduces(writer_.program(), *loop)) return Member{*loop, std::nullopt};
    std::optional<PerfectNest> nest = AsPerfectNest(writer_.program(), *loop);
    if (!nest || nest->accumulates() ||
        nest->outputs[0].iterator != loop->iterator) {
      return std::nullopt;
    }
    nest = WithoutUnitLoops(writer_, *std::move(nest));
    return Member{std::get<For>(Around(nest->outputs, {nest->set})), nest};
  }

  // About how long all of them take.
  double Cycles(const std::vector<Member>& members) {
    double cycles = 0;
    for (const auto& [loop, map] : members) {
      Count(loop.body, static_cast<double>(loop.extent), cycles);
    }
    return cycles;
  }

  void Count(const Block& block, double times, double& cycles) {
    const double lanes = static_cast<double>(target_.vector_bytes) / 4;
    for (const Stmt& stmt : block.stmts) {
      if (const For* loop = std::get_if<For>(&stmt)) {
        Count(loop->body, times * static_cast<double>(loop->extent), cycles);
      } else if (const ExprId* value = ValueOf(stmt)) {
        cycles += times / lanes * (2 + costs_.Cost(writer_.program(), *value));
      }
    }
  }

  NestWriter& writer_;
  const Target& target_;
  CostModel costs_;
};

}  // namespace

size_t CountPlainRows(const LoopProgram& program,
                      absl::Span<const Stmt> stmts) {
  const For* first = std::get_if<For>(&stmts[0]);
  if (first == nullptr) return 1;
  for (size_t k = 0; k < stmts.size(); ++k) {
    if (std::holds_alternative<Comment>(stmts[k])) continue;
    const For* loop = std::get_if<For>(&stmts[k]);
    if (loop == nullptr || loop->extent != first->extent) return k;
    if (Reduces(program, *loop)) return 0;
  }
  return stmts.size();
}

std::optional<FusedRows> FuseRows(NestWriter& writer,
                                  absl::Span<const Stmt> stmts,
                                  const Target& target) {
  return RowFuser(writer, target).Fuse(stmts);
}

void ScheduleRows(NestRewriter& rewriter, const FusedRows& rows,
                  const Target& target) {
  if (rows.is_parallel) {
    rewriter.Parallel({rows.loop.iterator, rows.loop.extent});
  }
  for (const PerfectNest& map : rows.maps) {
    ScheduleMap(rewriter, map, {}, target);
  }
}

}  // namespace ocannl
