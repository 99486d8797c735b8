// SPDX-License-Identifier: Apache-2.0
//
// AbsorbZeroOut: a nest initializes what it accumulates, cell by cell, in the
// place of a zero_out of all of it, or of loops that assign to each of its
// cells (the inverse of decomposing a reduction into its init and its update,
// as in TVM).
//
//   zero_out t;
//   for i0 { for i1 { for i2 { t[i0, i1] := t[i0, i1] + x[i0, i2, i1]; } } }
//     ->
//   for i0 { for i1 {
//     t[i0, i1] := 0;
//     for i2 { t[i0, i1] := t[i0, i1] + x[i0, i2, i1]; } } }
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/references.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {
namespace {

// The only cell of the buffer that the statements in `body` touch; nullopt:
// there are several, or one of them is looked up.
std::optional<Access> OnlyCellOf(const LoopProgram& program, const Block& body,
                                 BufferId buffer) {
  std::optional<Access> cell;
  bool is_only = true;
  auto visit = [&](const Access& access, const Lookup* lookup) {
    if (access.buffer != buffer) return;
    if (!cell) cell = access;
    is_only &= *cell == access && lookup == nullptr;
  };
  WalkStmts(body, [&](const Stmt& stmt) {
    const Set* set = std::get_if<Set>(&stmt);
    if (set != nullptr) visit(set->target, nullptr);
    is_only &= set != nullptr || WrittenBy(program, stmt) != buffer;
    WalkReadsAndLookups(program, stmt, visit);
  });
  return is_only ? cell : std::nullopt;
}

}  // namespace

bool CoversBuffer(const LoopProgram& program, const Access& cell,
                  absl::Span<const NestLoop> loops) {
  if (absl::c_any_of(cell.indices, [](const Affine& index) {
        return index.terms().size() > 1;
      })) {
    return false;
  }
  int64_t cells = 1;
  for (const NestLoop& loop : loops) {
    if (loop.extent > 1 && !MovesAlong(cell, loop.iterator)) return false;
    cells *= loop.extent;
  }
  return cells == NumElements(program.buffers[cell.buffer].dims);
}

std::optional<ExprId> InitialValue(LoopProgram& program, const Stmt& stmt,
                                   const Access& cell) {
  if (const auto* zero = std::get_if<ZeroOut>(&stmt)) {
    if (zero->buffer != cell.buffer) return std::nullopt;
    return program.exprs.Add(Constant{program.buffers[cell.buffer].dtype, 0});
  }
  const std::optional<PerfectNest> nest = AsPerfectNest(program, stmt);
  if (!nest || nest->accumulates() || nest->set.target.buffer != cell.buffer ||
      !CoversBuffer(program, nest->set.target, nest->outputs) ||
      absl::c_linear_search(EffectsOf(program, stmt).reads, cell.buffer) ||
      !LookedUpBy(program, nest->set.value).empty()) {
    return std::nullopt;
  }
  IteratorMap places;
  for (const NestLoop& loop : nest->outputs) places[loop.iterator] = 0;
  for (size_t axis = 0; axis < cell.indices.size(); ++axis) {
    const Affine& index = nest->set.target.indices[axis];
    if (index.terms().empty()) continue;
    const IteratorId iterator = index.terms()[0].symbol.iterator();
    if (!(index == Affine(Iterator(iterator)))) return std::nullopt;
    places[iterator] = cell.indices[axis];
  }
  Stmt set = nest->set;
  Substitute(program, set, places);
  return std::get<Set>(set).value;
}

absl::Status AbsorbZeroOut(LoopProgram& program, absl::string_view buffer,
                           IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, buffer));
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  std::vector<NestLoop> loops;
  for (const For* around : site.around) {
    if (OnlyLoopIn(*around) == nullptr) {
      return UserError(Name(around->iterator), ", around ", Name(loop),
                       ", holds more, be it a comment");
    }
    loops.push_back({around->iterator, around->extent});
  }
  loops.push_back({loop, site.loop().extent});
  std::optional<Access> cell = OnlyCellOf(program, site.loop().body, id);
  if (!cell || !CoversBuffer(program, *cell, loops)) {
    return UserError(Name(loop), " and the loops around it must visit each ",
                     "cell of `", buffer, "` once, one for each axis");
  }
  const Dims& dims = program.buffers[id].dims;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    // By an iterator of a loop inside, maybe.
    if (dims[axis] == 1) cell->indices[axis] = 0;
  }
  std::vector<Stmt>& stmts = program.body.stmts;
  const Effects zeroes = EffectsOf(program, ZeroOut{id});
  size_t at = site.nest;
  do {
    if (at-- == 0) {
      return UserError("no zero_out of `", buffer, "` stands before it");
    }
  } while (!Conflict(EffectsOf(program, stmts[at]), zeroes));
  const std::optional<ExprId> value = InitialValue(program, stmts[at], *cell);
  if (!value) {
    return UserError("`", buffer, "` is used between its zero_out and ",
                     Name(loops[0].iterator), ", or is not zeroed");
  }
  Effects reads = EffectsOf(program, stmts[at]);
  reads.writes.clear();
  for (size_t k = at + 1; k <= site.nest; ++k) {
    if (Conflict(EffectsOf(program, stmts[k]), reads)) {
      return UserError("what `", buffer, "` is set to is written before ",
                       Name(loops[0].iterator), " ends");
    }
  }
  std::vector<Stmt>& body = site.loop().body.stmts;
  body.insert(body.begin(), Set{*cell, *value});
  stmts.erase(stmts.begin() + static_cast<int64_t>(at));
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
