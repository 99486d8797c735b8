// SPDX-License-Identifier: Apache-2.0
//
// Stage: what the threads of a block read, copied into shared memory by all of
// them (shared memory tiling, Kirk and Hwu, Programming Massively Parallel
// Processors, 2010).
//
//   for i3 { thread i4 = 0 to 31 { for i5 = 0 to 7 { ... x[i4, 8*i3 + i5] ...
//     ->
//   for i3 {
//     thread i6 = 0 to 3 { thread i7 = 0 to 7 { unroll i8 = 0 to 7 {
//       staged[i7, i6 + 4*i8] := x[i6 + 4*i8, 8*i3 + i7]; } } }
//     thread i4 = 0 to 31 { for i5 = 0 to 7 { ... staged[i5, i4] ...
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/phases.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/stager.h"

namespace ocannl::rewrite {
namespace {

// Copies that a thread makes one after the other are unrolled, of the inner
// loops, up to so many: each needs a register meanwhile.
constexpr int64_t kMostUnrolledCopy = 64;
// What a thread reads of one row at once, so what rows keep aligned.
constexpr int64_t kBytesAtOnce = 16;

// Whether threads, or one thread for each of its registers, have other values
// of the iterator; it does not count steps.
bool IsAcross(const AxisMap& move) {
  return move.kind == LoopKind::kThread || move.kind == LoopKind::kUnroll ||
         move.kind == LoopKind::kVec;
}

// The stride of the move in the buffer, in cells.
int64_t StrideOf(const Buffer& buffer, const AxisMap& move) {
  int64_t stride = 0;
  int64_t cells = 1;
  for (size_t axis = buffer.dims.size(); axis-- > 0;) {
    stride += cells * move.factors[axis];
    cells *= buffer.dims[axis];
  }
  return std::abs(stride);
}

// The moves, those with greater strides first.
std::vector<size_t> ByStride(const Buffer& buffer, const Cells& cells) {
  std::vector<size_t> order(cells.moves.size());
  std::iota(order.begin(), order.end(), 0);
  absl::c_stable_sort(order, [&](size_t a, size_t b) {
    return StrideOf(buffer, cells.moves[a]) > StrideOf(buffer, cells.moves[b]);
  });
  return order;
}

// A row for each step, in which the threads read side by side.
CopyLayout LayoutOf(const Buffer& buffer, const Cells& cells) {
  const std::vector<size_t> order = ByStride(buffer, cells);
  CopyLayout layout{.dims = {1, 1}, .steps = {}};
  layout.steps.resize(cells.moves.size());
  for (size_t k = order.size(); k-- > 0;) {
    const AxisMap& move = cells.moves[order[k]];
    const size_t axis = IsAcross(move) ? 1 : 0;
    std::vector<int64_t>& steps = layout.steps[order[k]];
    steps.resize(2);
    steps[axis] = layout.dims[axis];
    layout.dims[axis] *= move.extent;
  }
  // Threads that copy a column would write to one bank.
  const bool turns = !order.empty() && !IsAcross(cells.moves[order.back()]);
  if (turns && layout.dims[1] > 1) {
    layout.dims[1] += std::max<int64_t>(
        1, kBytesAtOnce / static_cast<int64_t>(SizeOf(buffer.dtype)));
  }
  return layout;
}

int64_t GreatestDivisor(int64_t of, int64_t most) {
  int64_t divisor = std::min(of, most);
  while (of % divisor != 0) --divisor;
  return divisor;
}

// The phase in which `threads` threads copy, neighbours what is side by side.
Stmt CopyPhase(LoopProgram& program, const Buffer& buffer, Stager& stager,
               int64_t threads) {
  const Cells& cells = stager.cells();
  std::vector<size_t> order = ByStride(buffer, cells);
  std::vector<For> across;  // inner loops first
  std::vector<For> turns;
  int64_t room = kMostUnrolledCopy;
  // Loops over `count` of the cells that are `step` apart, the innermost ones
  // unrolled while there is room.
  auto add_turns = [&](int64_t count, int64_t step) {
    Affine move;
    const int64_t unrolled = GreatestDivisor(count, room);
    room /= unrolled;
    for (auto [kind, extent] : {std::pair(LoopKind::kUnroll, unrolled),
                                std::pair(LoopKind::kFor, count / unrolled)}) {
      if (extent == 1) continue;
      turns.push_back({kind, program.FreshIterator(), extent, {}});
      move += step * Affine(Iterator(turns.back().iterator));
      step *= extent;
    }
    return move;
  };
  std::vector<Affine> moves(cells.moves.size());
  absl::c_reverse(order);
  for (size_t k : order) {
    const int64_t extent = cells.moves[k].extent;
    const int64_t own = GreatestDivisor(extent, threads);
    threads /= own;
    if (own > 1) {
      across.push_back({LoopKind::kThread, program.FreshIterator(), own, {}});
      moves[k] += Iterator(across.back().iterator);
    }
    moves[k] += add_turns(extent / own, own);
  }
  if (across.empty()) {
    across.push_back({LoopKind::kThread, program.FreshIterator(), 1, {}});
  }
  Access target = stager.CopyAt(moves);
  const ExprId value = program.Read(stager.OriginalAt(moves)).id();
  Stmt stmt = Set{.target = std::move(target), .value = value};
  auto wrap = [&](For& loop) {
    loop.body.stmts.push_back(std::move(stmt));
    stmt = std::move(loop);
  };
  for (LoopKind kind : {LoopKind::kUnroll, LoopKind::kFor}) {
    for (For& loop : turns) {
      if (loop.kind == kind) wrap(loop);
    }
  }
  for (For& loop : across) wrap(loop);
  return stmt;
}

// The most threads of a phase of the nest that `loop` is in; 0: none is.
int64_t ThreadsAround(const LoopProgram& program, const For& loop) {
  for (const Stmt& stmt : program.body.stmts) {
    const For* nest = std::get_if<For>(&stmt);
    if (nest == nullptr || nest->kind != LoopKind::kGrid) continue;
    bool is_in = nest == &loop;
    WalkLoops(nest->body, [&](const For& in) { is_in |= &in == &loop; });
    if (!is_in) continue;
    int64_t threads = 0;
    gpu::WalkPhases(nest->body, [&](const For& phase) {
      threads = std::max(threads, gpu::LoopNest(phase).size);
    });
    return threads;
  }
  return 0;
}

}  // namespace

absl::Status Stage(LoopProgram& program, absl::string_view buffer,
                   IteratorId loop, int64_t threads) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  const int64_t around = ThreadsAround(program, site.loop());
  bool has_phases = false;
  gpu::WalkPhases(site.loop().body, [&](const For&) { has_phases = true; });
  if (around == 0 || !has_phases || site.loop().kind == LoopKind::kThread) {
    return UserError(Name(loop), " is not around the threads of a block");
  }
  OCANNL_ASSIGN_OR_RETURN(const BufferId id, FindBuffer(program, buffer));
  if (absl::c_linear_search(EffectsOf(program, site.loop()).writes, id)) {
    return UserError("the loop over ", Name(loop), " writes `", buffer,
                     "`, so a copy would not hold what it reads");
  }
  For body{LoopKind::kFor, program.next_iterator, 1, site.loop().body};
  Stager stager(&program, id, std::move(body));
  OCANNL_RETURN_IF_ERROR(stager.Collect());
  const Buffer original = program.buffers[id];
  stager.UseCopy("staged", Role::kShared, LayoutOf(original, stager.cells()));
  std::vector<Stmt> stmts = {
      CopyPhase(program, original, stager, std::max(threads, around))};
  absl::c_copy(stager.loop().body.stmts, std::back_inserter(stmts));
  site.loop().body.stmts = std::move(stmts);
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
