// SPDX-License-Identifier: Apache-2.0
//
// ContractArray: scratch of which each iteration of a loop needs its own part
// only becomes that part (array contraction; Sarkar and Gao, Optimization of
// array accesses by collective loop transformations, 1991). ExpandArray is the
// inverse (array expansion; Feautrier 1988). SwapAxes changes the layout alone.
//
//   for i0 { for i1 { t[i0, i1] := x[i0, i1] * 2; }     t : f32[8, 16]
//            for i2 { y[i0, i2] := t[i0, 15 - i2]; } }
//   ->
//   for i0 { for i1 { t[i1] := x[i0, i1] * 2; }         t : f32[16]
//            for i2 { y[i0, i2] := t[15 - i2]; } }
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/savepoint.h"

namespace ocannl::rewrite {
namespace {

// Cells of what ExpandArray makes: private memory is each thread's.
constexpr int64_t kMostExpanded = int64_t{1} << 20;

// Whether the loop, or one around it, is of that kind.
bool IsIn(const LoopSite& site, LoopKind kind) {
  return site.loop().kind == kind ||
         absl::c_any_of(site.around,
                        [&](const For* loop) { return loop->kind == kind; });
}

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
        add(*lookup->index);
        uses.lookups += lookup->cell.buffer == buffer;
      }
    });
  });
  return uses;
}

// Error: there are others of the buffer than these `uses`, which are in the
// loop, or they do not name its cells.
absl::Status CheckIsOf(const LoopProgram& program, const Uses& uses,
                       BufferId buffer, IteratorId loop) {
  const std::string& name = program.buffers[buffer].name;
  if (uses.count() == 0 ||
      uses.count() != UsesOf(program, program.body, buffer).count()) {
    return UserError("`", name, "` is used outside of ", Name(loop));
  }
  if (uses.lookups == 0 && !uses.cells.empty()) return absl::OkStatus();
  return UserError("cells of `", name, "` are looked up, or none is named");
}

// Calls `rewrite` with each cell of the buffer that the block names.
void RewriteCells(LoopProgram& program, Block& block, BufferId buffer,
                  absl::FunctionRef<void(Access& cell)> rewrite) {
  auto visit = [&](Access& cell) {
    if (cell.buffer == buffer) rewrite(cell);
  };
  RewriteStmts(block, [&](Stmt& stmt) {
    RewriteLeaves(program, stmt, [&](LeafValue leaf) {
      if (auto* cell = std::get_if<Access>(&leaf)) visit(*cell);
      if (auto* lookup = std::get_if<Lookup>(&leaf))
        visit(lookup->index.Mutable());
      return leaf;
    });
  });
}

// What the cells of an axis are in an iteration of the loops: those from `base`
// on, `size` of them.
struct Window {
  Affine base;
  int64_t size;
};

using Extents = absl::flat_hash_map<IteratorId, int64_t>;

// The part of the index that has one value in an iteration; `inside` are the
// extents of the loops that an iteration holds.
Affine InvariantPart(const Affine& index, const Extents& inside) {
  return index.Substitute([&](Symbol symbol) -> Affine {
    const bool varies =
        symbol.kind == Symbol::kIterator && inside.contains(symbol.iterator());
    return varies ? Affine(0) : symbol;
  });
}

// Of one axis; null if its indices in an iteration are none side by side.
std::optional<Window> WindowOf(const std::vector<Access>& cells, size_t axis,
                               const Extents& inside) {
  const Affine base = InvariantPart(cells[0].indices[axis], inside);
  int64_t first = 0;
  int64_t last = 0;
  for (const Access& cell : cells) {
    const Affine& index = cell.indices[axis];
    const Affine rest = index + -1 * base;
    int64_t least = rest.offset();
    int64_t most = rest.offset();
    for (const Affine::Term& term : rest.terms()) {
      const auto extent = term.symbol.kind == Symbol::kIterator
                              ? inside.find(term.symbol.iterator())
                              : inside.end();
      if (extent == inside.end()) return std::nullopt;
      const int64_t reach = term.factor * (extent->second - 1);
      (reach < 0 ? least : most) += reach;
    }
    first = std::min(first, least);
    last = std::max(last, most);
  }
  return Window{.base = base + Affine(first), .size = last - first + 1};
}

// Where a window is no smaller than the axis, it is the axis.
std::vector<Window> WindowsOf(const std::vector<Access>& cells,
                              const Dims& dims, const For& loop) {
  Extents inside;
  WalkLoops(loop.body, [&](const For& in) { inside[in.iterator] = in.extent; });
  std::vector<Window> windows;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const std::optional<Window> window = WindowOf(cells, axis, inside);
    windows.push_back(window && window->size < dims[axis]
                          ? *window
                          : Window{.base = Affine(0), .size = dims[axis]});
  }
  return windows;
}

// The access with what is left of its indices.
void Rebase(const std::vector<Window>& windows, Access& cell) {
  Indices indices;
  for (size_t axis = 0; axis < windows.size(); ++axis) {
    if (windows[axis].size == 1) continue;
    indices.push_back(cell.indices[axis] + -1 * windows[axis].base);
  }
  cell.indices = std::move(indices);
}

}  // namespace

absl::Status ContractArray(LoopProgram& program, absl::string_view name,
                           IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, name));
  Buffer& buffer = program.buffers[id];
  if (!IsScratch(buffer.role) || IsOfNest(buffer.role)) {
    return UserError("`", name, "` is no temp");
  }
  if (IsIn(site, LoopKind::kVec) || IsIn(site, LoopKind::kGrid) ||
      IsIn(site, LoopKind::kThread)) {
    return UserError("contract `", name, "` before ", Name(loop),
                     " runs as lanes, blocks or threads");
  }
  const Uses uses = UsesOf(program, site.loop().body, id);
  OCANNL_RETURN_IF_ERROR(CheckIsOf(program, uses, id, loop));
  const std::vector<Window> windows =
      WindowsOf(uses.cells, buffer.dims, site.loop());
  Savepoint before(program);
  before.Save(site.nest);
  buffer.role = Role::kPrivate;
  buffer.dims.clear();
  for (const Window& window : windows) {
    if (window.size > 1) buffer.dims.push_back(window.size);
  }
  RewriteCells(program, site.loop().body, id,
               [&](Access& cell) { Rebase(windows, cell); });
  if (IsPrivatizable(program, site.loop(), id)) return absl::OkStatus();
  before.RollBack();
  return UserError("an iteration of ", Name(loop), " reads of `", name,
                   "` what it has not written before, or not for each ",
                   "iteration of a par loop in it");
}

absl::Status ExpandArray(LoopProgram& program, absl::string_view name,
                         IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, name));
  Buffer& buffer = program.buffers[id];
  if (buffer.role != Role::kPrivate) {
    return UserError("`", name, "` is not private");
  }
  if (IsIn(site, LoopKind::kGrid) || IsIn(site, LoopKind::kThread)) {
    return UserError("expand `", name, "` before ", Name(loop),
                     " runs as blocks or threads");
  }
  const Uses uses = UsesOf(program, site.loop().body, id);
  OCANNL_RETURN_IF_ERROR(CheckIsOf(program, uses, id, loop));
  if (uses.zeroings > 0) {
    return UserError("a zero_out of `", name, "` would zero the places of ",
                     "all iterations; do `zero_loops ", name, "` first");
  }
  if (!IsPrivatizable(program, site.loop(), id)) {
    return UserError("an iteration of ", Name(loop), " reads of `", name,
                     "` what it has not written before");
  }
  const bool has_places = absl::c_any_of(
      uses.cells, [&](const Access& cell) { return MovesAlong(cell, loop); });
  if (has_places) {
    return UserError("indices of `", name, "` depend on ", Name(loop),
                     " already");
  }
  const int64_t extent = site.loop().extent;
  if (extent > kMostExpanded / NumElements(buffer.dims)) {
    return UserError("`", name, "` would have more than ", kMostExpanded,
                     " cells");
  }
  buffer.dims.insert(buffer.dims.begin(), extent);
  RewriteCells(program, site.loop().body, id, [&](Access& cell) {
    cell.indices.insert(cell.indices.begin(), Iterator(loop));
  });
  return absl::OkStatus();
}

absl::Status SwapAxes(LoopProgram& program, absl::string_view name,
                      int64_t axis) {
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, name));
  Buffer& buffer = program.buffers[id];
  if (buffer.role != Role::kTemp) {
    return UserError("`", name, "` is not a temp, so others see its layout");
  }
  if (axis < 0 || axis + 1 >= static_cast<int64_t>(buffer.dims.size())) {
    return UserError("`", name, "` has ", buffer.dims.size(), " axes: ", axis,
                     " and the next one are not two of them");
  }
  const Uses uses = UsesOf(program, program.body, id);
  if (uses.lookups > 0) {
    return UserError("cells of `", name, "` are looked up");
  }
  // A savepoint has the buffers that statements name.
  if (uses.count() == 0) return UserError("nothing uses `", name, "`");
  const auto at = static_cast<size_t>(axis);
  std::swap(buffer.dims[at], buffer.dims[at + 1]);
  RewriteCells(program, program.body, id, [&](Access& cell) {
    std::swap(cell.indices[at], cell.indices[at + 1]);
  });
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
