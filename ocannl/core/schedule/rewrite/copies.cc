// SPDX-License-Identifier: Apache-2.0
//
// Pack and Privatize: the elements that a loop touches are staged in a copy
// (cache read and cache write in TVM and Halide).
//
//   for i3 { unroll i4 { y[2*i1 + i4] := y[2*i1 + i4] + x[i3, i4]; } }
//     ->
//   unroll i5 { acc[i5] := y[2*i1 + i5]; }
//   for i3 { unroll i4 { acc[i4] := acc[i4] + x[i3, i4]; } }
//   unroll i6 { y[2*i1 + i6] := acc[i6]; }
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/stager.h"

namespace ocannl::rewrite {
namespace {

// The region, taken from its block, as a loop over `iterator` if it is not one.
For AsLoop(const LoopRegion& region, IteratorId iterator) {
  std::vector<Stmt> stmts = region.Take();
  if (stmts.size() == 1) return std::get<For>(std::move(stmts[0]));
  return {LoopKind::kFor, iterator, 1, {std::move(stmts)}};
}

// The region as it was before AsLoop.
void PutBack(const LoopRegion& region, For loop) {
  std::vector<Stmt> stmts;
  if (region.first == region.last) {
    stmts.push_back(std::move(loop));
  } else {
    stmts = std::move(loop.body.stmts);
  }
  region.Replace(std::move(stmts));
}

// The buffer of that name, if the region writes it where it should, and only
// there.
absl::StatusOr<BufferId> BufferFor(LoopProgram& program, absl::string_view name,
                                   const LoopRegion& region, bool is_written) {
  OCANNL_ASSIGN_OR_RETURN(const BufferId buffer, FindBuffer(program, name));
  bool writes = false;
  bool reads = false;
  for (size_t k = region.first; k <= region.last; ++k) {
    const Effects effects = EffectsOf(program, region.block->stmts[k]);
    writes |= absl::c_linear_search(effects.writes, buffer);
    reads |= absl::c_linear_search(effects.reads, buffer);
  }
  // Of a region that does neither, Collect tells.
  if (writes == is_written || (!writes && !reads)) return buffer;
  const auto& first = std::get<For>(region.block->stmts[region.first]);
  return UserError("the loop over ", Name(first.iterator),
                   writes ? " writes `" : " does not write `", name,
                   "`: ", writes ? "privatize" : "pack", " is for that");
}

// The region on a copy of `buffer` in fast memory.
void Place(LoopProgram& program, const LoopRegion& region, Stager& stager,
           bool fills, bool is_private) {
  std::vector<Stmt> before;
  std::vector<Stmt> behind;
  if (fills) before.push_back(stager.CopyLoops(/*into_copy=*/true));
  if (stager.writes()) {
    behind.push_back(stager.CopyLoops(/*into_copy=*/false));
  }
  For loop = stager.TakeLoop();
  std::vector<Stmt> stmts = std::move(before);
  if (region.first == region.last) {
    stmts.push_back(std::move(loop));
  } else {
    absl::c_move(loop.body.stmts, std::back_inserter(stmts));
  }
  absl::c_move(behind, std::back_inserter(stmts));
  if (region.in_body && is_private) {
    // A private buffer belongs to one statement of the program's body.
    For all{LoopKind::kFor, program.FreshIterator(), 1, {std::move(stmts)}};
    stmts.clear();
    stmts.push_back(std::move(all));
  }
  region.Replace(std::move(stmts));
}

}  // namespace

absl::Status Privatize(LoopProgram& program, absl::string_view buffer,
                       IteratorId first, IteratorId last) {
  OCANNL_ASSIGN_OR_RETURN(const LoopRegion region,
                          FindRegion(program, first, last));
  OCANNL_ASSIGN_OR_RETURN(const BufferId id,
                          BufferFor(program, buffer, region, true));
  Stager stager(&program, id, AsLoop(region, program.next_iterator));
  absl::Status status = stager.Collect();
  if (!status.ok()) {
    PutBack(region, stager.TakeLoop());
    return status;
  }
  stager.UseCopy("acc", Role::kPrivate);
  // Where every cell is written first, there is nothing to read.
  const bool fills = !stager.FillsItself();
  Place(program, region, stager, fills, /*is_private=*/true);
  return absl::OkStatus();
}

absl::Status Pack(LoopProgram& program, absl::string_view buffer,
                  IteratorId first, IteratorId last,
                  absl::Span<const IteratorId> along) {
  OCANNL_ASSIGN_OR_RETURN(const LoopRegion region,
                          FindRegion(program, first, last));
  for (IteratorId loop : along) {
    OCANNL_RETURN_IF_ERROR(FindLoop(program, loop).status());
  }
  OCANNL_ASSIGN_OR_RETURN(const BufferId id,
                          BufferFor(program, buffer, region, false));
  Stager stager(&program, id, AsLoop(region, program.next_iterator), along);
  absl::Status status = stager.Collect();
  if (!status.ok()) {
    PutBack(region, stager.TakeLoop());
    return status;
  }
  const bool in_body = region.in_body;
  stager.UseCopy("packed", in_body ? Role::kTemp : Role::kPrivate);
  Place(program, region, stager, /*fills=*/true, /*is_private=*/!in_body);
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
