// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/cost.h"
#include "ocannl/core/schedule/map.h"
#include "ocannl/core/schedule/plan.h"

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

class RowFuser {
 public:
  RowFuser(NestWriter& writer, const Target& target)
      : writer_(writer), target_(target) {}

  std::optional<FusedRows> Fuse(absl::Span<const Stmt> stmts) {
    const For* first = stmts.empty() ? nullptr : std::get_if<For>(&stmts[0]);
    if (first == nullptr || first->extent < 2 || !Joins(*first)) {
      return std::nullopt;
    }
    For all = *first;
    std::vector<const For*> members = {first};
    size_t count = 1;
    for (size_t k = 1; k < stmts.size(); ++k) {
      if (std::holds_alternative<Comment>(stmts[k])) continue;
      const For* next = std::get_if<For>(&stmts[k]);
      if (next == nullptr || !CanFuse(writer_.program(), all, *next) ||
          !Joins(*next)) {
        break;
      }
      Block body = Remapped(*next, Iterator(first->iterator));
      for (Stmt& stmt : body.stmts) all.body.stmts.push_back(std::move(stmt));
      members.push_back(next);
      count = k + 1;
    }
    if (members.size() < 2 || !has_reduction_) return std::nullopt;
    return FusedRows{.loop = Write(members), .count = count};
  }

 private:
  // Whether the loop reduces rows, or assigns to their cells.
  bool Joins(const For& loop) {
    if (!IsParallel(writer_.program(), loop)) return false;
    const bool reduces = Reduces(writer_.program(), loop);
    has_reduction_ |= reduces;
    return reduces || RowMap(loop);
  }

  // The loop as a nest of assignments whose outermost loop it is.
  std::optional<PerfectNest> RowMap(const For& loop) const {
    std::optional<PerfectNest> nest = AsPerfectNest(writer_.program(), loop);
    const bool is_map = nest && !nest->accumulates() &&
                        nest->outputs[0].iterator == loop.iterator;
    return is_map ? nest : std::nullopt;
  }

  // The loop's body for row `row`.
  Block Remapped(const For& loop, const Affine& row) {
    const IteratorMap places = {{loop.iterator, row}};
    Block body = loop.body;
    RewriteStmts(body, [&](Stmt& stmt) { writer_.Remap(stmt, places); });
    return body;
  }

  For Write(const std::vector<const For*>& members) {
    Block block;
    const LoopKind kind =
        Cycles(members) > kMinParallelCycles ? LoopKind::kPar : LoopKind::kFor;
    writer_.Loop(block, kind, members[0]->extent,
                 [&](Block& body, const Affine& row) {
                   for (const For* member : members) {
                     WriteMember(body, *member, row);
                   }
                 });
    return std::get<For>(block.stmts[0]);
  }

  void WriteMember(Block& block, const For& member, const Affine& row) {
    std::optional<PerfectNest> nest = RowMap(member);
    if (nest) {
      const IteratorMap places = {{member.iterator, row}};
      nest->outputs.erase(nest->outputs.begin());
      nest->set.target = writer_.Remapped(nest->set.target, places);
      nest->set.value = writer_.Remapped(nest->set.value, places, {});
      if (FindLaneLoop(writer_.program(), *nest) >= 0) {
        nest = WithoutUnitLoops(writer_, *std::move(nest));
        WriteMap(writer_, *nest, {}, target_, block);
        return;
      }
    }
    Block body = Remapped(member, row);
    for (Stmt& stmt : body.stmts) block.stmts.push_back(std::move(stmt));
  }

  // About how long all of them take.
  double Cycles(const std::vector<const For*>& members) {
    double cycles = 0;
    for (const For* member : members) {
      Count(member->body, static_cast<double>(member->extent), cycles);
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
  bool has_reduction_ = false;
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

}  // namespace ocannl
