// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/nest.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/references.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// The only statement of the block but comments, or null.
const Stmt* OnlyStmt(const Block& block) {
  const Stmt* only = nullptr;
  for (const Stmt& stmt : block.stmts) {
    if (std::holds_alternative<Comment>(stmt)) continue;
    if (only != nullptr) return nullptr;
    only = &stmt;
  }
  return only;
}

bool ReadsOnlyItsCell(const LoopProgram& program, const Set& set) {
  if (absl::c_linear_search(LookedUpBy(program, set.value),
                            set.target.buffer)) {
    return false;
  }
  return absl::c_all_of(ReadsOf(program, set.value), [&](const Access& read) {
    return read.buffer != set.target.buffer || read == set.target;
  });
}

// Private buffers belong to one statement, which scheduling may cut.
bool UsesPrivate(const LoopProgram& program, const Stmt& stmt) {
  auto is_private = [&](BufferId buffer) {
    return program.buffers[buffer].role == Role::kPrivate;
  };
  bool uses = is_private(WrittenBy(program, stmt));
  WalkReads(program, stmt, [&](const Access& read) {
    uses = uses || is_private(read.buffer);
  });
  return uses;
}

// What is all that is in the `loops`, one or more, that `stmt` is, if it may be
// scheduled; else null.
template <class T>
const T* OnlyIn(const LoopProgram& program, const Stmt& stmt,
                std::vector<const For*>& loops) {
  const Stmt* at = &stmt;
  while (at != nullptr && std::holds_alternative<For>(*at)) {
    const For& loop = std::get<For>(*at);
    if (loop.kind != LoopKind::kFor) return nullptr;
    loops.push_back(&loop);
    at = OnlyStmt(loop.body);
  }
  const T* only = at == nullptr ? nullptr : std::get_if<T>(at);
  if (only == nullptr || loops.empty() || UsesLocals(program, only->value) ||
      UsesPrivate(program, *at)) {
    return nullptr;
  }
  return only;
}

template <class Id>
void KeepEachOnce(std::vector<Id>& ids) {
  absl::c_sort(ids);
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

template <class StmtOrBlock>
Effects CollectEffects(const LoopProgram& program, const StmtOrBlock& of) {
  Effects effects;
  WalkStmts(of, [&](const Stmt& stmt) {
    const BufferId written = WrittenBy(program, stmt);
    if (written.valid()) effects.writes.push_back(written);
    WalkReads(program, stmt, [&](const Access& read) {
      effects.reads.push_back(read.buffer);
    });
    if (program.locals.empty()) return;
    if (const auto* let = std::get_if<DeclareLocal>(&stmt)) {
      effects.local_writes.push_back(let->local);
    } else if (const auto* set = std::get_if<SetLocal>(&stmt)) {
      effects.local_writes.push_back(set->local);
    }
    WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
      const auto* get = std::get_if<GetLocal>(&leaf);
      if (get != nullptr) effects.local_reads.push_back(get->local);
    });
  });
  KeepEachOnce(effects.reads);
  KeepEachOnce(effects.writes);
  KeepEachOnce(effects.local_reads);
  KeepEachOnce(effects.local_writes);
  return effects;
}

template <class Id>
bool Intersect(const std::vector<Id>& a, const std::vector<Id>& b) {
  return absl::c_any_of(
      a, [&](Id each) { return absl::c_linear_search(b, each); });
}

}  // namespace

std::optional<PerfectNest> AsPerfectNest(const LoopProgram& program,
                                         const Stmt& stmt) {
  std::vector<const For*> loops;
  const Set* set = OnlyIn<Set>(program, stmt, loops);
  if (set == nullptr || !ReadsOnlyItsCell(program, *set)) return std::nullopt;
  PerfectNest nest{.outputs = {}, .reduced = {}, .set = *set};
  for (const For* loop : loops) {
    const bool moves = MovesAlong(set->target, loop->iterator);
    if (moves && !IsParallel(program, *loop)) return std::nullopt;
    (moves || loop->extent == 1 ? nest.outputs : nest.reduced)
        .push_back({.iterator = loop->iterator, .extent = loop->extent});
  }
  // What only overwrites keeps the last value.
  if (nest.accumulates() &&
      (!absl::c_linear_search(ReadsOf(program, set->value), set->target) ||
       !LookedUpBy(program, set->value).empty())) {
    return std::nullopt;
  }
  return nest;
}

std::optional<ScatterNest> AsScatterNest(const LoopProgram& program,
                                         const Stmt& stmt) {
  std::vector<const For*> loops;
  const Scatter* scatter = OnlyIn<Scatter>(program, stmt, loops);
  if (scatter == nullptr) return std::nullopt;
  ScatterNest nest{.loops = {}, .scatter = *scatter};
  for (const For* loop : loops) {
    nest.loops.push_back({loop->iterator, loop->extent});
  }
  // The columns outermost.
  std::vector<NestLoop> order = nest.loops;
  std::rotate(order.begin(), order.end() - 1, order.end());
  const For columns = std::get<For>(Around(order, {*scatter}));
  if (columns.extent == 1 || !IsParallel(program, columns)) return std::nullopt;
  return nest;
}

bool MovesAlong(const Access& access, IteratorId iterator) {
  return absl::c_any_of(access.indices, [&](const Affine& index) {
    return index.FactorOf(Iterator(iterator)) != 0;
  });
}

int64_t StrideOf(const LoopProgram& program, const Access& access,
                 IteratorId iterator) {
  int64_t sum = 0;
  WalkStrides(program, access, [&](int64_t stride, const Affine& index) {
    sum += stride * index.FactorOf(Iterator(iterator));
  });
  return sum;
}

Stmt Around(const std::vector<NestLoop>& loops, std::vector<Stmt> stmts) {
  for (size_t k = loops.size(); k-- > 0;) {
    For loop{LoopKind::kFor, loops[k].iterator, loops[k].extent, {}};
    loop.body.stmts = std::exchange(stmts, {});
    stmts.push_back(std::move(loop));
  }
  return std::move(stmts[0]);
}

int FindLaneLoop(const LoopProgram& program, const PerfectNest& nest) {
  for (size_t k = nest.outputs.size(); k-- > 0;) {
    if (nest.outputs[k].extent > 1 &&
        StrideOf(program, nest.set.target, nest.outputs[k].iterator) == 1) {
      return static_cast<int>(k);
    }
  }
  return -1;
}

std::vector<Access> ReadsOf(const LoopProgram& program, ExprId value) {
  std::vector<Access> reads;
  std::vector<Access> indices;
  WalkLeaves(program, value, [&](const LeafValue& leaf) {
    if (const auto* access = std::get_if<Access>(&leaf)) {
      reads.push_back(*access);
    } else if (const auto* lookup = std::get_if<Lookup>(&leaf)) {
      indices.push_back(*lookup->index);
    }
  });
  // Leaves differ from each other, but not from the indices of lookups.
  for (const Access& index : indices) {
    if (!absl::c_linear_search(reads, index)) reads.push_back(index);
  }
  return reads;
}

std::vector<Access> OperandsOf(const LoopProgram& program,
                               const PerfectNest& nest) {
  std::vector<Access> operands = ReadsOf(program, nest.set.value);
  std::erase_if(operands, [&](const Access& read) {
    return read.buffer == nest.set.target.buffer;
  });
  return operands;
}

int64_t SizeOfCell(const LoopProgram& program, const Access& access) {
  return static_cast<int64_t>(SizeOf(program.buffers[access.buffer].dtype));
}

double Iterations(const std::vector<NestLoop>& loops) {
  double product = 1;
  for (const NestLoop& loop : loops)
    product *= static_cast<double>(loop.extent);
  return product;
}

std::vector<BufferId> LookedUpBy(const LoopProgram& program, ExprId value) {
  std::vector<BufferId> buffers;
  WalkLeaves(program, value, [&](const LeafValue& leaf) {
    if (const auto* lookup = std::get_if<Lookup>(&leaf)) {
      buffers.push_back(lookup->cell.buffer);
    }
  });
  KeepEachOnce(buffers);
  return buffers;
}

std::vector<BufferId> Effects::buffers() const {
  std::vector<BufferId> all = reads;
  absl::c_copy(writes, std::back_inserter(all));
  KeepEachOnce(all);
  return all;
}

bool UsesLocals(const LoopProgram& program, ExprId value) {
  bool uses = false;
  WalkLeaves(program, value, [&](const LeafValue& leaf) {
    uses = uses || std::holds_alternative<GetLocal>(leaf);
  });
  return uses;
}

Effects EffectsOf(const LoopProgram& program, const Stmt& stmt) {
  return CollectEffects(program, stmt);
}

Effects EffectsOf(const LoopProgram& program, const Block& block) {
  return CollectEffects(program, block);
}

bool Conflict(const Effects& a, const Effects& b) {
  return Intersect(a.writes, b.writes) || Intersect(a.writes, b.reads) ||
         Intersect(a.reads, b.writes) ||
         Intersect(a.local_writes, b.local_writes) ||
         Intersect(a.local_writes, b.local_reads) ||
         Intersect(a.local_reads, b.local_writes);
}

}  // namespace ocannl
