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
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/stager.h"
#include "ocannl/core/schedule/rewrite/unverified.h"

namespace ocannl::rewrite::unverified {
namespace {

// Statements of a block, from `first` to `last`.
struct Region {
  Block* block;
  size_t first;
  size_t last;
  bool in_body;

  // They, in a loop.
  For AsLoop(const LoopProgram& program) const {
    if (first == last) return std::get<For>(block->stmts[first]);
    const auto begin = block->stmts.begin();
    return {LoopKind::kFor,
            NextIterator(program),
            1,
            {{begin + static_cast<std::ptrdiff_t>(first),
              begin + static_cast<std::ptrdiff_t>(last) + 1}}};
  }

  void Replace(std::vector<Stmt> stmts) const {
    const auto begin = block->stmts.begin();
    const auto at =
        block->stmts.erase(begin + static_cast<std::ptrdiff_t>(first),
                           begin + static_cast<std::ptrdiff_t>(last) + 1);
    block->stmts.insert(at, std::make_move_iterator(stmts.begin()),
                        std::make_move_iterator(stmts.end()));
  }
};

absl::StatusOr<Region> FindRegion(LoopProgram& program, IteratorId first,
                                  IteratorId last) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite a, FindLoop(program, first));
  OCANNL_ASSIGN_OR_RETURN(const LoopSite b, FindLoop(program, last));
  if (a.block == b.block && a.at <= b.at) {
    return Region{a.block, a.at, b.at, a.in_body()};
  }
  return IllegalError("the loop over ", Name(last), " does not come after ",
                      Name(first), " in the same block");
}

// The buffer of that name, if the loop writes it where it should, and only
// there.
absl::StatusOr<BufferId> BufferFor(const LoopProgram& program,
                                   absl::string_view name, const For& loop,
                                   bool is_written) {
  OCANNL_ASSIGN_OR_RETURN(const BufferId buffer, FindBuffer(program, name));
  const Effects effects = EffectsOf(program, loop);
  const bool writes = absl::c_linear_search(effects.writes, buffer);
  const bool reads = absl::c_linear_search(effects.reads, buffer);
  // Of a loop that does neither, Collect tells.
  if (writes == is_written || (!writes && !reads)) return buffer;
  return IllegalError("the loop over ", Name(loop.iterator),
                      writes ? " writes `" : " does not write `", name,
                      "`: ", writes ? "privatize" : "pack", " is for that");
}

// The region on a copy of `buffer` in fast memory.
void Place(const Region& region, Stager& stager, bool fills, bool is_private) {
  std::vector<Stmt> stmts;
  if (fills) stmts.push_back(stager.CopyLoops(/*into_copy=*/true));
  if (region.first == region.last) {
    stmts.push_back(stager.loop());
  } else {
    absl::c_copy(stager.loop().body.stmts, std::back_inserter(stmts));
  }
  if (stager.writes()) {
    stmts.push_back(stager.CopyLoops(/*into_copy=*/false));
  }
  if (region.in_body && is_private) {
    // A private buffer belongs to one statement of the program's body.
    For all{LoopKind::kFor, stager.NewIterator(), 1, {std::move(stmts)}};
    stmts = {std::move(all)};
  }
  region.Replace(std::move(stmts));
}

}  // namespace

absl::Status Privatize(LoopProgram& program, absl::string_view buffer,
                       IteratorId first, IteratorId last) {
  OCANNL_ASSIGN_OR_RETURN(const Region region,
                          FindRegion(program, first, last));
  const For loop = region.AsLoop(program);
  OCANNL_ASSIGN_OR_RETURN(const BufferId id,
                          BufferFor(program, buffer, loop, true));
  Stager stager(&program, id, loop);
  OCANNL_RETURN_IF_ERROR(stager.Collect());
  stager.UseCopy("acc", Role::kPrivate);
  // Where every cell is written first, there is nothing to read.
  const bool fills = !stager.FillsItself();
  Place(region, stager, fills, /*is_private=*/true);
  return absl::OkStatus();
}

absl::Status Pack(LoopProgram& program, absl::string_view buffer,
                  IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const Region region, FindRegion(program, loop, loop));
  const For packed = region.AsLoop(program);
  OCANNL_ASSIGN_OR_RETURN(const BufferId id,
                          BufferFor(program, buffer, packed, false));
  Stager stager(&program, id, packed);
  OCANNL_RETURN_IF_ERROR(stager.Collect());
  const bool in_body = region.in_body;
  stager.UseCopy("packed", in_body ? Role::kTemp : Role::kPrivate);
  Place(region, stager, /*fills=*/true, /*is_private=*/!in_body);
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite::unverified
