// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/rewrite/stager.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/must_write.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"

namespace ocannl::rewrite {
namespace {

LoopKind KindOfCopy(const For& loop) {
  return loop.kind == LoopKind::kPar ? LoopKind::kFor : loop.kind;
}

// Whether a walk over `block` finds each cell of `buffer` written before it is
// read.
bool WritesFirst(const Block& block, BufferId buffer,
                 const LoopProgram& program, MustWriteRegions& written) {
  for (const Stmt& stmt : block.stmts) {
    bool known = true;
    WalkReads(program, stmt, [&](const Access& read) {
      known = known && (read.buffer != buffer || written.Covers(read));
    });
    if (!known) return false;
    const Set* set = std::get_if<Set>(&stmt);
    if (set != nullptr && set->target.buffer == buffer) {
      written.Write(set->target);
    }
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) continue;
    written.Enter(*loop);
    if (!WritesFirst(loop->body, buffer, program, written)) return false;
    written.Leave();
  }
  return true;
}

}  // namespace

Stager::Stager(LoopProgram* program, BufferId buffer, For loop,
               absl::Span<const IteratorId> along)
    : program_(*program),
      buffer_(buffer),
      loop_(std::move(loop)),
      along_(along.begin(), along.end()) {
  loops_.push_back(&loop_);
  WalkLoops(loop_.body, [&](const For& inner) { loops_.push_back(&inner); });
}

absl::Status Stager::Collect() {
  absl::Status status;
  auto visit = [&](const Access& access) {
    if (IsStaged(access)) status.Update(Add(access));
  };
  WalkStmts(loop_.body, [&](const Stmt& stmt) {
    if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
      if (zero->buffer == buffer_) {
        status.Update(UserError("the loop zeroes all of `", name(), "`"));
      }
    }
    writes_ = writes_ || WrittenBy(program_, stmt) == buffer_;
    if (const Set* set = std::get_if<Set>(&stmt)) visit(set->target);
    WalkReads(program_, stmt, visit);
    WalkLeaves(program_, stmt, [&](const LeafValue& leaf) {
      const auto* lookup = std::get_if<Lookup>(&leaf);
      if (lookup == nullptr || !IsStaged(lookup->cell)) return;
      status.Update(UserError("the loop looks up which cell of `", name(),
                              "` it touches"));
    });
  });
  OCANNL_RETURN_IF_ERROR(status);
  if (!cells_) {
    return UserError("the loop does not touch `", name(), "`");
  }
  // What is only read may stand in the copy several times.
  if (!writes_ || IsOneToOne()) return absl::OkStatus();
  return UserError("two iterations may touch one cell of `", name(),
                   "`, for which the copy would have two");
}

Cells Stager::CellsOf(const Access& access) const {
  Cells cells;
  for (const Affine& index : access.indices) {
    cells.base.push_back(index.Substitute([&](Symbol symbol) -> Affine {
      return IsInside(symbol) ? Affine(0) : Affine(symbol);
    }));
  }
  for (const For* loop : loops_) {
    const Symbol symbol = Iterator(loop->iterator);
    auto factor = [&](const Affine& index) { return index.FactorOf(symbol); };
    if (absl::c_none_of(access.indices, factor)) continue;
    AxisMap move{{}, loop->extent, loop->iterator, KindOfCopy(*loop)};
    absl::c_transform(access.indices, std::back_inserter(move.factors), factor);
    cells.moves.push_back(std::move(move));
  }
  return cells;
}

bool Stager::IsStaged(const Access& access) const {
  if (access.buffer != buffer_) return false;
  return along_.empty() || absl::c_any_of(along_, [&](IteratorId loop) {
           return MovesAlong(access, loop);
         });
}

bool Stager::IsInside(Symbol symbol) const {
  return absl::c_any_of(loops_, [&](const For* loop) {
    return symbol == Iterator(loop->iterator);
  });
}

absl::Status Stager::Add(const Access& access) {
  for (const auto& [known, moves] : accesses_) {
    if (known == access) return absl::OkStatus();
  }
  Cells cells = CellsOf(access);
  if (!cells_) cells_ = cells;
  auto error = [&] {
    return UserError(
        "the loop touches `", PrintAccess(program_, accesses_[0].first),
        "` and `", PrintAccess(program_, access), "`, which move differently");
  };
  if (cells.base != cells_->base ||
      cells.moves.size() != cells_->moves.size()) {
    return error();
  }
  // Equal axis maps may stand for each other: the elements that they reach
  // together are the same.
  std::vector<Affine> moves;
  for (const AxisMap& move : cells_->moves) {
    auto like = absl::c_find_if(
        cells.moves, [&](const AxisMap& own) { return own.IsLike(move); });
    if (like == cells.moves.end()) return error();
    moves.push_back(Iterator(like->iterator));
    cells.moves.erase(like);
  }
  accesses_.emplace_back(access, std::move(moves));
  return absl::OkStatus();
}

// The access, one of accesses_, in the copy.
Access Stager::InCopy(const Access& access) const {
  return CopyAt(absl::c_find_if(accesses_, [&](const auto& known) {
                  return known.first == access;
                })->second);
}

Access Stager::CopyAt(const std::vector<Affine>& moves) const {
  Access copy{.buffer = copy_, .indices = Indices(layout_.dims.size())};
  for (size_t k = 0; k < layout_.steps.size(); ++k) {
    for (size_t axis = 0; axis < layout_.dims.size(); ++axis) {
      copy.indices[axis] += layout_.steps[k][axis] * moves[k];
    }
  }
  return copy;
}

Access Stager::OriginalAt(const std::vector<Affine>& moves) const {
  Access original{.buffer = buffer_, .indices = cells_->base};
  for (size_t k = 0; k < moves.size(); ++k) {
    const std::vector<int64_t>& factors = cells_->moves[k].factors;
    for (size_t axis = 0; axis < factors.size(); ++axis) {
      original.indices[axis] += factors[axis] * moves[k];
    }
  }
  return original;
}

// Whether other iterations of the moving loops are other cells. An axis on
// which each move goes further than all shorter ones together tells theirs.
bool Stager::IsOneToOne() const {
  std::vector<AxisMap> moves = cells_->moves;
  for (size_t axis = 0; axis < cells_->base.size();) {
    auto step = [&](const AxisMap& move) {
      return std::abs(move.factors[axis]);
    };
    absl::c_sort(moves, [&](const AxisMap& a, const AxisMap& b) {
      return step(a) < step(b);
    });
    int64_t reach = 0;
    bool tells = false;
    for (const AxisMap& move : moves) {
      if (step(move) == 0) continue;
      tells = step(move) > reach;
      if (!tells) break;
      reach += step(move) * (move.extent - 1);
    }
    // The other axes have only what is left to tell.
    if (tells) std::erase_if(moves, step);
    axis = tells ? 0 : axis + 1;
  }
  return moves.empty();
}

void Stager::UseCopy(const std::string& name, Role role) {
  CopyLayout layout;
  const size_t moves = cells_->moves.size();
  for (size_t k = 0; k < moves; ++k) {
    layout.dims.push_back(cells_->moves[k].extent);
    layout.steps.emplace_back(moves)[k] = 1;
  }
  if (moves == 0) layout.dims.push_back(1);
  UseCopy(name, role, std::move(layout));
}

void Stager::UseCopy(const std::string& name, Role role, CopyLayout layout) {
  layout_ = std::move(layout);
  copy_ = AddBuffer(program_, name, program_.buffers[buffer_].dtype,
                    layout_.dims, role);
  auto replace = [&](Access& access) {
    if (IsStaged(access)) access = InCopy(access);
  };
  RewriteStmts(loop_.body, [&](Stmt& stmt) {
    RewriteLeaves(program_, stmt, [&](LeafValue leaf) {
      if (Access* access = std::get_if<Access>(&leaf)) replace(*access);
      if (auto* lookup = std::get_if<Lookup>(&leaf))
        replace(lookup->index.Mutable());
      return leaf;
    });
  });
}

bool Stager::FillsItself() {
  const IteratorId next = program_.next_iterator;
  MustWriteRegions written(program_);
  written.Enter(loop_);
  bool fills = WritesFirst(loop_.body, copy_, program_, written);
  written.Leave();
  if (fills && writes_) {
    fills = WritesFirst({{CopyLoops(/*into_copy=*/false)}}, copy_, program_,
                        written);
  }
  program_.next_iterator = next;  // the copy back is made when it is placed
  return fills;
}

Stmt Stager::CopyLoops(bool into_copy) {
  std::vector<For> loops;
  std::vector<Affine> moves;
  for (const AxisMap& move : cells_->moves) {
    const Symbol at = Iterator(program_.FreshIterator());
    loops.push_back({move.kind, at.iterator(), move.extent, {}});
    moves.push_back(at);
  }
  Access copy = CopyAt(moves);
  Access original = OriginalAt(moves);
  const ExprId value = program_.Read(into_copy ? original : copy).id();
  Stmt stmt =
      Set{.target = std::move(into_copy ? copy : original), .value = value};
  for (; !loops.empty(); loops.pop_back()) {
    loops.back().body.stmts.push_back(std::move(stmt));
    stmt = std::move(loops.back());
  }
  return stmt;
}

}  // namespace ocannl::rewrite
