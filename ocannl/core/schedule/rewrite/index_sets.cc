// SPDX-License-Identifier: Apache-2.0
//
// Cut, Distribute, Collapse, Unroll and Enclose: a loop becomes two, two become
// one, one becomes none, and none becomes one. Reverse: it goes backwards.
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/savepoint.h"

namespace ocannl::rewrite {
namespace {

// A bound of how code grows, not a tuned one.
constexpr int64_t kMostUnrolled = 16;

// Of buffers, an axis that would be one with the axis behind it.
using Seams = absl::flat_hash_map<BufferId, size_t>;

// Two loops that become one, `outer`.
class Pair {
 public:
  Pair(const LoopProgram& program, const For& outer, const For& inner)
      : program_(program),
        outer_(outer.iterator),
        inner_(inner.iterator),
        extent_(inner.extent) {}

  // Adds the seams at which one loop goes on where the other one ends. Error:
  // an index of `body` in which the loops do not count as one.
  absl::Status FindSeams(const Block& body, Seams& seams) const {
    absl::Status status;
    auto visit = [&](const Access& access) {
      if (status.ok()) status = Check(access, seams);
    };
    WalkStmts(body, [&](const Stmt& stmt) {
      if (const Set* set = std::get_if<Set>(&stmt)) visit(set->target);
      WalkReads(program_, stmt, visit);
      WalkLeaves(program_, stmt, [&](const LeafValue& leaf) {
        const auto* index = std::get_if<Affine>(&leaf);
        if (index == nullptr || CountsAsOne(*index)) return;
        status.Update(Error("a value depends on their indices"));
      });
    });
    return status;
  }

 private:
  template <class... Parts>
  absl::Status Error(const Parts&... parts) const {
    return UserError(Name(outer_), " and ", Name(inner_),
                     " cannot be one loop: ", parts...);
  }

  bool CountsAsOne(const Affine& index) const {
    return index.FactorOf(Iterator(outer_)) ==
           extent_ * index.FactorOf(Iterator(inner_));
  }

  // Adds the first seam of the access.
  absl::Status Check(const Access& access, Seams& seams) const {
    const Dims& dims = program_.buffers[access.buffer].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (CountsAsOne(access.indices[axis])) continue;
      if (axis + 1 < dims.size()) {
        const Affine merged =
            dims[axis + 1] * access.indices[axis] + access.indices[axis + 1];
        if (CountsAsOne(merged)) {
          seams.try_emplace(access.buffer, axis);
          return absl::OkStatus();
        }
      }
      return Error("`", PrintAccess(program_, access),
                   "` does not go on where the inner one ends");
    }
    return absl::OkStatus();
  }

  const LoopProgram& program_;
  const IteratorId outer_;
  const IteratorId inner_;
  const int64_t extent_;
};

// In all of the program. Error: one of the axes is looked up.
absl::Status MergeAxes(LoopProgram& program, const Seams& seams) {
  absl::Status status;
  auto merge = [&](Access& access, int32_t* looked_up) {
    const auto seam = seams.find(access.buffer);
    if (seam == seams.end()) return;
    const auto axis = static_cast<int32_t>(seam->second);
    const auto& [name, dtype, role, dims] = program.buffers[access.buffer];
    if (looked_up != nullptr && *looked_up > axis + 1) {
      --*looked_up;
    } else if (looked_up != nullptr && *looked_up >= axis) {
      status.Update(UserError("two axes of `", name,
                              "` cannot be one: ", "its cells are looked up"));
    }
    auto at = access.indices.begin() + axis;
    *at = dims[axis + 1] * *at + *std::next(at);
    access.indices.erase(std::next(at));
  };
  auto touches = [&](const Stmt& stmt) {
    bool any = seams.contains(WrittenBy(program, stmt));
    WalkReads(program, stmt, [&](const Access& access) {
      any |= seams.contains(access.buffer);
    });
    return any;
  };
  RewriteStmts(program.body, [&](Stmt& stmt) {
    if (!touches(stmt)) return;
    RewriteLeaves(program, stmt, [&](LeafValue leaf) {
      if (Access* access = std::get_if<Access>(&leaf)) merge(*access, nullptr);
      if (Lookup* lookup = std::get_if<Lookup>(&leaf)) {
        merge(lookup->index.Mutable(), nullptr);
        merge(lookup->cell, &lookup->axis);
      }
      return leaf;
    });
  });
  for (const auto& [buffer, axis] : seams) {
    Dims& dims = program.buffers[buffer].dims;
    dims[axis] *= dims[axis + 1];
    dims.erase(dims.begin() + static_cast<int64_t>(axis) + 1);
  }
  return status;
}

// Whether nothing but `loop` touches the private buffers that it touches.
bool OwnsPrivates(const LoopProgram& program, const For& loop) {
  absl::flat_hash_map<BufferId, int> uses;
  auto count = [&](const Block& block, int by) {
    auto visit = [&](BufferId buffer) {
      if (buffer.valid() && program.buffers[buffer].role == Role::kPrivate) {
        uses[buffer] += by;
      }
    };
    WalkStmts(block, [&](const Stmt& stmt) {
      visit(WrittenBy(program, stmt));
      WalkReads(program, stmt, [&](const Access& a) { visit(a.buffer); });
    });
  };
  count(loop.body, 1);
  const auto inside = uses;
  count(program.body, -1);
  return absl::c_all_of(inside,
                        [&](const auto& use) { return uses[use.first] == 0; });
}

}  // namespace

absl::Status Cut(LoopProgram& program, IteratorId loop, int64_t at) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  For& first = site.loop();
  if (at < 1 || at >= first.extent) {
    return UserError(Name(loop), " has ", first.extent,
                     " iterations: a cut at ", at, " leaves one part empty");
  }
  For second{first.kind, program.FreshIterator(), first.extent - at, {}};
  second.body = Copy(program, first.body, OwnsPrivates(program, first));
  Substitute(program, second.body, loop,
             Affine(Iterator(second.iterator)) + at);
  first.extent = at;
  site.block->stmts.insert(
      site.block->stmts.begin() + static_cast<int64_t>(site.at) + 1,
      std::move(second));
  return absl::OkStatus();
}

absl::Status Reverse(LoopProgram& program, IteratorId loop, Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  For& reversed = site.loop();
  if (legality == Legality::kProve) {
    OCANNL_RETURN_IF_ERROR(
        CheckNone(WhyNotParallel(program, reversed), program,
                  absl::StrCat(Name(loop), " cannot be reversed")));
  }
  Substitute(program, reversed.body, loop,
             -1 * Affine(Iterator(loop)) + (reversed.extent - 1));
  return absl::OkStatus();
}

absl::Status Unroll(LoopProgram& program, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  For& unrolled = site.loop();
  if (unrolled.kind != LoopKind::kFor) {
    return UserError(Name(loop), " is no `for` loop");
  }
  if (unrolled.extent > kMostUnrolled) {
    return UserError(Name(loop), " has ", unrolled.extent,
                     " iterations, and at most ", kMostUnrolled,
                     " are unrolled; split it");
  }
  const int64_t extent = unrolled.extent;
  const bool owns_privates = extent > 1 && OwnsPrivates(program, unrolled);
  std::vector<Stmt>& stmts = site.block->stmts;
  const auto at = static_cast<int64_t>(site.at);
  const Block first = std::move(unrolled.body);
  stmts.erase(stmts.begin() + at);
  // The last one first, so that each stands in front of it; the first one
  // keeps its names.
  for (int64_t k = extent - 1; k >= 0; --k) {
    Block body = first;
    if (k > 0) body = Copy(program, std::move(body), owns_privates);
    Substitute(program, body, loop, Affine(k));
    stmts.insert(stmts.begin() + at,
                 std::make_move_iterator(body.stmts.begin()),
                 std::make_move_iterator(body.stmts.end()));
  }
  return absl::OkStatus();
}

absl::Status Enclose(LoopProgram& program, IteratorId first, IteratorId last) {
  OCANNL_ASSIGN_OR_RETURN(const LoopRegion region,
                          FindRegion(program, first, last));
  For loop{LoopKind::kFor, program.FreshIterator(), 1, {}};
  loop.body.stmts = region.Take();
  region.Replace({std::move(loop)});
  return absl::OkStatus();
}

absl::Status Distribute(LoopProgram& program, IteratorId loop,
                        Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  // Comments belong to what they stand before.
  std::vector<size_t> starts = {0};
  std::vector<Stmt>& stmts = site.loop().body.stmts;
  for (size_t k = 0; k + 1 < stmts.size(); ++k) {
    if (!std::holds_alternative<Comment>(stmts[k])) starts.push_back(k + 1);
  }
  if (starts.size() < 2) {
    return UserError("all that ", Name(loop), " does is one statement");
  }
  for (size_t k = 1; k < starts.size() && legality == Legality::kProve; ++k) {
    auto dependence = WhyNotDistribute(program, site.loop(), starts[k]);
    if (!dependence) continue;
    const std::string what =
        absl::StrCat("the statements of ", Name(loop), " need each other");
    if (dependence->buffer.valid()) {
      return CheckNone(dependence, program, what);
    }
    return UserError(what, ": one uses a local of another");
  }
  std::vector<Stmt> loops;
  starts.push_back(stmts.size());
  for (size_t k = 0; k + 1 < starts.size(); ++k) {
    For own = {site.loop().kind, loop, site.loop().extent, {}};
    for (size_t j = starts[k]; j < starts[k + 1]; ++j) {
      own.body.stmts.push_back(std::move(stmts[j]));
    }
    if (!loops.empty()) {
      own.iterator = program.FreshIterator();
      Substitute(program, own.body, loop, Iterator(own.iterator));
    }
    loops.push_back(std::move(own));
  }
  const auto at = site.block->stmts.begin() + static_cast<int64_t>(site.at);
  site.block->stmts.insert(site.block->stmts.erase(at),
                           std::make_move_iterator(loops.begin()),
                           std::make_move_iterator(loops.end()));
  return absl::OkStatus();
}

namespace {

// Merges the axes that the outer loops and those in them go over, until none
// are left. Error: the loops of a pair cannot be one.
absl::Status MergeAllAxes(LoopProgram& program, const std::vector<For*>& loops,
                          Savepoint& before) {
  bool is_saved = false;
  while (true) {
    Seams seams;
    for (const For* loop : loops) {
      const For& in = *OnlyLoopIn(*loop);
      OCANNL_RETURN_IF_ERROR(
          Pair(program, *loop, in).FindSeams(in.body, seams));
    }
    if (seams.empty()) return absl::OkStatus();
    if (!std::exchange(is_saved, true)) before.SaveAll();
    OCANNL_RETURN_IF_ERROR(MergeAxes(program, seams));
  }
}

}  // namespace

absl::Status Collapse(LoopProgram& program, IteratorId outer,
                      IteratorId inner) {
  return CollapsePairs(program, {{outer, inner}});
}

absl::Status CollapsePairs(LoopProgram& program,
                           absl::Span<const LoopPair> pairs) {
  std::vector<For*> loops;  // outer ones, whose places stay
  for (const auto& [outer, inner] : pairs) {
    OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, outer));
    const For* in = OnlyLoopIn(site.loop());
    if (in == nullptr || in->iterator != inner) {
      return UserError(Name(inner), " is not all that is in ", Name(outer));
    }
    if (in->kind != site.loop().kind) {
      return UserError(Name(outer), " and ", Name(inner), " differ in kind");
    }
    loops.push_back(&site.loop());
  }
  Savepoint before(program);
  OCANNL_RETURN_IF_ERROR(
      before.RollBackUnlessOk(MergeAllAxes(program, loops, before)));
  for (size_t k = 0; k < pairs.size(); ++k) {
    const Symbol outer = Iterator(pairs[k].first);
    const Symbol inner = Iterator(pairs[k].second);
    For& loop = *loops[k];
    loop.extent *= OnlyLoopIn(loop)->extent;
    Block body = std::move(OnlyLoopIn(loop)->body);
    loop.body = std::move(body);
    Substitute(program, loop.body, [&](Symbol symbol) -> Affine {
      if (symbol == outer) return 0;
      return symbol == inner ? outer : symbol;
    });
  }
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
