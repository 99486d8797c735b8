// SPDX-License-Identifier: Apache-2.0
//
// ContractArray: scratch of which each iteration of a loop needs its own part
// only becomes that part (array contraction; Sarkar and Gao, Optimization of
// array accesses by collective loop transformations, 1991).
//
//   for i0 { for i1 { t[i0, i1] := x[i0, i1] * 2; }     t : f32[8, 16]
//            for i2 { y[i0, i2] := t[i0, 15 - i2]; } }
//   ->
//   for i0 { for i1 { t[i1] := x[i0, i1] * 2; }         t : f32[16]
//            for i2 { y[i0, i2] := t[15 - i2]; } }
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/unverified.h"

namespace ocannl::rewrite::unverified {
namespace {

// Where statements mention a buffer.
struct Uses {
  std::vector<Access> cells;
  int lookups = 0;
  int zeroings = 0;

  size_t count() const { return cells.size() + lookups + zeroings; }
};

Uses UsesOf(const LoopProgram& program, const Block& block, BufferId buffer) {
  Uses uses;
  auto add = [&](const Access& cell) {
    if (cell.buffer == buffer) uses.cells.push_back(cell);
  };
  WalkStmts(block, [&](const Stmt& stmt) {
    if (const Set* set = std::get_if<Set>(&stmt)) add(set->target);
    const ZeroOut* zero = std::get_if<ZeroOut>(&stmt);
    uses.zeroings += zero != nullptr && zero->buffer == buffer;
    WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
      if (const Access* cell = std::get_if<Access>(&leaf)) add(*cell);
      if (const Lookup* lookup = std::get_if<Lookup>(&leaf)) {
        add(lookup->index);
        uses.lookups += lookup->cell.buffer == buffer;
      }
    });
  });
  return uses;
}

// Whether the index has one value in each iteration of the last of the loops.
bool IsInvariant(const Affine& index, const std::vector<For*>& loops) {
  return absl::c_all_of(index.terms(), [&](const Affine::Term& term) {
    return term.symbol.kind == Symbol::kStatic ||
           absl::c_any_of(loops, [&](const For* loop) {
             return term.symbol == Iterator(loop->iterator);
           });
  });
}

// Which axes all cells have in common in an iteration.
std::vector<bool> CommonAxes(const std::vector<Access>& cells, size_t axes,
                             const std::vector<For*>& loops) {
  std::vector<bool> common(axes);
  for (size_t axis = 0; axis < axes; ++axis) {
    const Affine& index = cells[0].indices[axis];
    common[axis] = IsInvariant(index, loops) &&
                   absl::c_all_of(cells, [&](const Access& cell) {
                     return cell.indices[axis] == index;
                   });
  }
  return common;
}

template <class T>
void Drop(const std::vector<bool>& axes, T& of_axes) {
  for (size_t axis = axes.size(); axis-- > 0;) {
    if (axes[axis]) of_axes.erase(of_axes.begin() + static_cast<int64_t>(axis));
  }
}

}  // namespace

absl::Status ContractArray(LoopProgram& program, absl::string_view name,
                           IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, name));
  Buffer& buffer = program.buffers[id];
  if (!IsScratch(buffer.role) || IsOfNest(buffer.role)) {
    return IllegalError("`", name, "` is no temp");
  }
  std::vector<For*> loops = site.around;
  loops.push_back(&site.loop());
  if (absl::c_any_of(loops, [](const For* around) {
        return around->kind == LoopKind::kVec ||
               around->kind == LoopKind::kGrid ||
               around->kind == LoopKind::kThread;
      })) {
    return IllegalError("contract `", name, "` before ", Name(loop),
                        " runs as lanes, blocks or threads");
  }
  const Uses uses = UsesOf(program, site.loop().body, id);
  if (uses.count() == 0 ||
      uses.count() != UsesOf(program, program.body, id).count()) {
    return IllegalError("`", name, "` is used outside of ", Name(loop));
  }
  if (uses.lookups > 0 || uses.cells.empty()) {
    return IllegalError("cells of `", name,
                        "` are looked up, or none is named");
  }
  const std::vector<bool> common =
      CommonAxes(uses.cells, buffer.dims.size(), loops);
  buffer.role = Role::kPrivate;
  Drop(common, buffer.dims);
  auto drop = [&](Access& cell) {
    if (cell.buffer == id) Drop(common, cell.indices);
  };
  RewriteStmts(site.loop().body, [&](Stmt& stmt) {
    RewriteLeaves(program, stmt, [&](LeafValue leaf) {
      if (auto* cell = std::get_if<Access>(&leaf)) drop(*cell);
      if (auto* lookup = std::get_if<Lookup>(&leaf)) drop(lookup->index);
      return leaf;
    });
  });
  if (!IsPrivatizable(program, site.loop(), id)) {
    return IllegalError("an iteration of ", Name(loop), " reads of `", name,
                        "` what it has not written before, or not for each ",
                        "iteration of a par loop in it");
  }
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite::unverified
