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
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/unverified.h"
#include "ocannl/core/schedule/writer.h"

namespace ocannl::rewrite::unverified {
namespace {

// How the axes of an access depend on one loop.
struct AxisMap {
  std::vector<int64_t> factors;  // by axis
  int64_t extent;
  IteratorId iterator;
  LoopKind kind;

  bool IsLike(const AxisMap& other) const {
    return factors == other.factors && extent == other.extent;
  }
};

// An access as a loop-invariant base and the axis maps of the loops inside,
// outer loops first.
struct Cells {
  Indices base;
  std::vector<AxisMap> moves;
};

class Stager {
 public:
  // `loop` is one of the program's.
  Stager(LoopProgram* program, BufferId buffer, For loop)
      : program_(*program),
        buffer_(buffer),
        loop_(std::move(loop)),
        next_iterator_(NextIterator(program_)) {
    loops_.push_back(&loop_);
    WalkLoops(loop_.body, [&](const For& inner) { loops_.push_back(&inner); });
  }

  IteratorId NewIterator() { return next_iterator_++; }

  // Finds the accesses. Error: they differ in how they depend on the loops, or
  // two elements of the copy would be one of the buffer.
  absl::Status Collect() {
    absl::Status status;
    auto visit = [&](const Access& access) {
      if (access.buffer == buffer_) status.Update(Add(access));
    };
    WalkStmts(loop_.body, [&](const Stmt& stmt) {
      if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
        if (zero->buffer == buffer_) {
          status.Update(IllegalError("the loop zeroes all of `", name(), "`"));
        }
      }
      writes_ = writes_ || WrittenBy(program_, stmt) == buffer_;
      if (const Set* set = std::get_if<Set>(&stmt)) visit(set->target);
      WalkReads(program_, stmt, visit);
      WalkLeaves(program_, stmt, [&](const LeafValue& leaf) {
        const auto* lookup = std::get_if<Lookup>(&leaf);
        if (lookup == nullptr || lookup->cell.buffer != buffer_) return;
        status.Update(IllegalError("the loop looks up which cell of `", name(),
                                   "` it touches"));
      });
    });
    OCANNL_RETURN_IF_ERROR(status);
    if (!cells_) {
      return IllegalError("the loop does not touch `", name(), "`");
    }
    // What is only read may stand in the copy several times.
    if (!writes_ || IsOneToOne()) return absl::OkStatus();
    return IllegalError("two iterations may touch one cell of `", name(),
                        "`, for which the copy would have two");
  }

  // The loop working on the copy, after a loop that loads it if it `fills`, and
  // before one that stores what it writes.
  std::vector<Stmt> Rewrite(const std::string& name, Role role, bool fills) {
    Dims dims;
    for (const AxisMap& move : cells_->moves) dims.push_back(move.extent);
    if (dims.empty()) dims.push_back(1);
    copy_ = NestWriter(&program_).NewBuffer(
        name, program_.buffers[buffer_].dtype, std::move(dims), role);
    std::vector<Stmt> stmts;
    if (fills) stmts.push_back(CopyLoops(true));
    MoveLoop();
    stmts.push_back(loop_);
    if (writes_) stmts.push_back(CopyLoops(false));
    return stmts;
  }

 private:
  const std::string& name() const { return program_.buffers[buffer_].name; }

  Cells CellsOf(const Access& access) const {
    Cells cells;
    for (const Affine& index : access.indices) {
      cells.base.push_back(index.Substitute([&](Symbol symbol) -> Affine {
        return IsInside(symbol) ? Affine(0) : Affine(symbol);
      }));
    }
    for (const For* loop : loops_) {
      AxisMap move{{}, loop->extent, loop->iterator, KindOfCopy(*loop)};
      for (const Affine& index : access.indices) {
        move.factors.push_back(index.FactorOf(Iterator(loop->iterator)));
      }
      if (absl::c_any_of(move.factors, [](int64_t f) { return f != 0; })) {
        cells.moves.push_back(std::move(move));
      }
    }
    return cells;
  }

  // Of the loop of a copy that does what `loop` does.
  static LoopKind KindOfCopy(const For& loop) {
    return loop.kind == LoopKind::kPar ? LoopKind::kFor : loop.kind;
  }

  bool IsInside(Symbol symbol) const {
    return absl::c_any_of(loops_, [&](const For* loop) {
      return symbol == Iterator(loop->iterator);
    });
  }

  absl::Status Add(const Access& access) {
    if (!cells_) {
      cells_ = CellsOf(access);
      first_ = access;
    }
    if (InCopy(access)) return absl::OkStatus();
    return IllegalError("the loop touches `", PrintAccess(program_, *first_),
                        "` and `", PrintAccess(program_, access),
                        "`, which move differently");
  }

  // The access in the copy. Equal axis maps may stand for each other: the
  // elements that they reach together are the same.
  std::optional<Access> InCopy(const Access& access) const {
    Cells cells = CellsOf(access);
    if (cells.base != cells_->base ||
        cells.moves.size() != cells_->moves.size()) {
      return std::nullopt;
    }
    Access in_copy{.buffer = copy_, .indices = {}};
    for (const AxisMap& move : cells_->moves) {
      auto like = absl::c_find_if(
          cells.moves, [&](const AxisMap& own) { return own.IsLike(move); });
      if (like == cells.moves.end()) return std::nullopt;
      in_copy.indices.push_back(Iterator(like->iterator));
      cells.moves.erase(like);
    }
    if (in_copy.indices.empty()) in_copy.indices.push_back(0);
    return in_copy;
  }

  // Whether other iterations of the moving loops are other cells. An axis on
  // which each move goes further than all shorter ones together tells theirs.
  bool IsOneToOne() const {
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

  // copy[...] := buffer[...], or back.
  Stmt CopyLoops(bool into_copy) {
    Access copy{.buffer = copy_, .indices = {}};
    Access original{.buffer = buffer_, .indices = cells_->base};
    std::vector<For> loops;
    for (const AxisMap& move : cells_->moves) {
      const Symbol at = Iterator(NewIterator());
      loops.push_back({move.kind, at.iterator(), move.extent, {}});
      copy.indices.push_back(at);
      for (size_t axis = 0; axis < move.factors.size(); ++axis) {
        original.indices[axis] += move.factors[axis] * Affine(at);
      }
    }
    if (loops.empty()) copy.indices.push_back(0);
    Access& target = into_copy ? copy : original;
    const ExprId value = program_.Read(into_copy ? original : copy).id();
    Stmt stmt = Set{.target = std::move(target), .value = value};
    for (; !loops.empty(); loops.pop_back()) {
      loops.back().body.stmts.push_back(std::move(stmt));
      stmt = std::move(loops.back());
    }
    return stmt;
  }

  void MoveLoop() {
    auto replace = [&](Access& access) {
      if (access.buffer == buffer_) access = *InCopy(access);
    };
    RewriteStmts(loop_.body, [&](Stmt& stmt) {
      RewriteLeaves(program_, stmt, [&](LeafValue leaf) {
        if (Access* access = std::get_if<Access>(&leaf)) replace(*access);
        if (auto* lookup = std::get_if<Lookup>(&leaf)) replace(lookup->index);
        return leaf;
      });
    });
  }

  LoopProgram& program_;
  const BufferId buffer_;
  For loop_;
  std::vector<const For*> loops_;  // it and those in it
  IteratorId next_iterator_;
  std::optional<Cells> cells_;
  std::optional<Access> first_;
  bool writes_ = false;
  BufferId copy_;
};

absl::StatusOr<BufferId> FindBuffer(const LoopProgram& program,
                                    absl::string_view name) {
  std::vector<std::string> names;
  for (BufferId id : program.buffers.ids()) {
    names.push_back(program.buffers[id].name);
    if (names.back() == name) return id;
  }
  return IllegalError("there is no buffer `", name, "`; there are ",
                      absl::StrJoin(names, ", "));
}

// With a copy of `buffer` that has the role `role`.
Rewritten WithCopy(LoopProgram program, BufferId buffer, IteratorId loop,
                   const std::string& name, Role role, bool fills) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  Stager copier(&program, buffer, site.loop());
  OCANNL_RETURN_IF_ERROR(copier.Collect());
  std::vector<Stmt> stmts = copier.Rewrite(name, role, fills);
  if (site.in_body && role == Role::kPrivate) {
    // A private buffer belongs to one statement of the program's body.
    For all{LoopKind::kFor, copier.NewIterator(), 1, {std::move(stmts)}};
    stmts = {std::move(all)};
  }
  const auto at =
      site.block->stmts.begin() + static_cast<std::ptrdiff_t>(site.at);
  *at = std::move(stmts.back());
  stmts.pop_back();
  site.block->stmts.insert(at, std::make_move_iterator(stmts.begin()),
                           std::make_move_iterator(stmts.end()));
  return program;
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

}  // namespace

Rewritten Privatize(LoopProgram program, absl::string_view buffer,
                    IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  OCANNL_ASSIGN_OR_RETURN(const BufferId id,
                          BufferFor(program, buffer, site.loop(), true));
  // Where the loop writes every cell first, there is nothing to read.
  Rewritten empty = Verified(
      WithCopy(program, id, loop, "acc", Role::kPrivate, /*fills=*/false));
  if (empty.ok()) return empty;
  return WithCopy(std::move(program), id, loop, "acc", Role::kPrivate,
                  /*fills=*/true);
}

Rewritten Pack(LoopProgram program, absl::string_view buffer, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  OCANNL_ASSIGN_OR_RETURN(const BufferId id,
                          BufferFor(program, buffer, site.loop(), false));
  const Role role = site.in_body ? Role::kTemp : Role::kPrivate;
  return WithCopy(std::move(program), id, loop, "packed", role,
                  /*fills=*/true);
}

}  // namespace ocannl::rewrite::unverified
