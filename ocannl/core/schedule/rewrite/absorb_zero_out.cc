// SPDX-License-Identifier: Apache-2.0
//
// AbsorbZeroOut: a nest initializes what it accumulates, cell by cell, in the
// place of a zero_out of all of it (the inverse of decomposing a reduction into
// its init and its update, as in TVM).
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
#include "ocannl/core/base/status_macros.h"
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
  auto visit = [&](const Access& access) {
    if (access.buffer != buffer) return;
    if (!cell) cell = access;
    is_only &= *cell == access;
  };
  WalkStmts(body, [&](const Stmt& stmt) {
    const Set* set = std::get_if<Set>(&stmt);
    if (set != nullptr) visit(set->target);
    is_only &= set != nullptr || WrittenBy(program, stmt) != buffer;
    WalkReads(program, stmt, visit);
    WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
      const auto* lookup = std::get_if<Lookup>(&leaf);
      is_only &= lookup == nullptr || lookup->cell.buffer != buffer;
    });
  });
  return is_only ? cell : std::nullopt;
}

}  // namespace

bool CoversBuffer(const LoopProgram& program, const Access& cell,
                  absl::Span<const NestLoop> loops) {
  int64_t cells = 1;
  for (const NestLoop& loop : loops) {
    cells *= loop.extent;
    if (loop.extent > 1 && absl::c_none_of(cell.indices, [&](const Affine& i) {
          return i.FactorOf(Iterator(loop.iterator)) != 0;
        })) {
      return false;
    }
  }
  return cells == NumElements(program.buffers[cell.buffer].dims) &&
         absl::c_all_of(cell.indices, [](const Affine& index) {
           return index.terms().size() <= 1;
         });
}

absl::Status AbsorbZeroOut(LoopProgram& program, absl::string_view buffer,
                           IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, buffer));
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  std::vector<NestLoop> loops;
  for (const For* around : site.around) {
    if (OnlyLoopIn(*around) == nullptr) {
      return IllegalError(Name(around->iterator), ", around ", Name(loop),
                          ", does more");
    }
    loops.push_back({around->iterator, around->extent});
  }
  loops.push_back({loop, site.loop().extent});
  const std::optional<Access> cell = OnlyCellOf(program, site.loop().body, id);
  if (!cell || !CoversBuffer(program, *cell, loops)) {
    return IllegalError("the loops from ", Name(loops[0].iterator), " to ",
                        Name(loop), " must visit each cell of `", buffer,
                        "` once");
  }
  std::vector<Stmt>& stmts = program.body.stmts;
  size_t at = 0;
  const For* nest = site.around.empty() ? &site.loop() : site.around[0];
  while (std::get_if<For>(&stmts[at]) != nest) ++at;
  const Stmt zero_out = ZeroOut{id};
  do {
    if (at-- == 0) {
      return IllegalError("no zero_out of `", buffer, "` stands before it");
    }
  } while (FirstConflict(program, stmts, at, at + 1, zero_out) > at);
  if (!std::holds_alternative<ZeroOut>(stmts[at])) {
    return IllegalError("`", buffer, "` is used between its zero_out and ",
                        Name(loops[0].iterator), ", or is not zeroed");
  }
  std::vector<Stmt>& body = site.loop().body.stmts;
  body.insert(
      body.begin(),
      Set{*cell, program.exprs.Add(Constant{program.buffers[id].dtype, 0})});
  stmts.erase(stmts.begin() + static_cast<int64_t>(at));
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
