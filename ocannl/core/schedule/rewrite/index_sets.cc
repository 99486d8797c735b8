// SPDX-License-Identifier: Apache-2.0
//
// Cut, Distribute, Collapse, Unroll and Enclose: a loop becomes two, two become
// one, one becomes none, and none becomes one.
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {
namespace {

// A bound of how code grows, not a tuned one.
constexpr int64_t kMostUnrolled = 16;

// An axis of a buffer that would be one with the axis behind it.
struct Seam {
  BufferId buffer;
  size_t axis;
};

class Collapser {
 public:
  Collapser(LoopProgram& program, const For& outer, const For& inner)
      : program_(program),
        outer_(outer.iterator),
        inner_(inner.iterator),
        extent_(inner.extent) {}

  // Gives `body` indices in which the loops count as one. Error: an index in
  // which they do not.
  absl::Status Run(const Block& body) {
    while (true) {
      std::optional<Seam> seam;
      absl::Status status;
      auto visit = [&](const Access& access) {
        if (status.ok() && !seam) status = Check(access, seam);
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
      OCANNL_RETURN_IF_ERROR(status);
      if (!seam) return absl::OkStatus();
      OCANNL_RETURN_IF_ERROR(Merge(*seam));
    }
  }

 private:
  template <class... Parts>
  absl::Status Error(const Parts&... parts) const {
    return IllegalError(Name(outer_), " and ", Name(inner_),
                        " cannot be one loop: ", parts...);
  }

  bool CountsAsOne(const Affine& index) const {
    return index.FactorOf(Iterator(outer_)) ==
           extent_ * index.FactorOf(Iterator(inner_));
  }

  // The first seam of the access on which one loop goes on where the other one
  // ends.
  absl::Status Check(const Access& access, std::optional<Seam>& seam) const {
    const Dims& dims = program_.buffers[access.buffer].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      if (CountsAsOne(access.indices[axis])) continue;
      if (axis + 1 < dims.size()) {
        const Affine merged =
            dims[axis + 1] * access.indices[axis] + access.indices[axis + 1];
        if (CountsAsOne(merged)) {
          seam = {.buffer = access.buffer, .axis = axis};
          return absl::OkStatus();
        }
      }
      return Error("`", PrintAccess(program_, access),
                   "` does not go on where the inner one ends");
    }
    return absl::OkStatus();
  }

  absl::Status Merge(Seam seam) {
    Dims& dims = program_.buffers[seam.buffer].dims;
    const int64_t last = dims[seam.axis + 1];
    absl::Status status;
    auto merge = [&](Access& access) {
      if (access.buffer != seam.buffer) return;
      auto at = access.indices.begin() + static_cast<int64_t>(seam.axis);
      *at = last * *at + *std::next(at);
      access.indices.erase(std::next(at));
    };
    RewriteStmts(program_.body, [&](Stmt& stmt) {
      if (!Touches(stmt, seam.buffer)) return;
      RewriteLeaves(program_, stmt, [&](LeafValue leaf) {
        if (Access* access = std::get_if<Access>(&leaf)) merge(*access);
        if (Lookup* lookup = std::get_if<Lookup>(&leaf)) {
          merge(lookup->index);
          if (lookup->cell.buffer == seam.buffer) {
            status.Update(MoveAxis(seam, lookup->axis));
          }
          merge(lookup->cell);
        }
        return leaf;
      });
    });
    dims[seam.axis] *= last;
    dims.erase(dims.begin() + static_cast<int64_t>(seam.axis) + 1);
    return status;
  }

  bool Touches(const Stmt& stmt, BufferId buffer) const {
    bool touches = WrittenBy(program_, stmt) == buffer;
    WalkReads(program_, stmt, [&](const Access& access) {
      touches |= access.buffer == buffer;
    });
    return touches;
  }

  // Where an axis that is looked up is when two are one.
  absl::Status MoveAxis(Seam seam, int32_t& axis) const {
    const auto merged = static_cast<int32_t>(seam.axis);
    if (axis == merged || axis == merged + 1) {
      return Error("cells of `", program_.buffers[seam.buffer].name,
                   "` are looked up");
    }
    if (axis > merged) --axis;
    return absl::OkStatus();
  }

  LoopProgram& program_;
  const IteratorId outer_;
  const IteratorId inner_;
  const int64_t extent_;
};

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
    return IllegalError(Name(loop), " has ", first.extent,
                        " iterations: a cut at ", at, " leaves one part empty");
  }
  IteratorId next = NextIterator(program);
  For second{first.kind, next++, first.extent - at, {}};
  second.body = Copy(program, first.body, next, OwnsPrivates(program, first));
  Substitute(program, second.body, loop,
             Affine(Iterator(second.iterator)) + at);
  first.extent = at;
  site.block->stmts.insert(
      site.block->stmts.begin() + static_cast<int64_t>(site.at) + 1,
      std::move(second));
  return absl::OkStatus();
}

absl::Status Unroll(LoopProgram& program, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  For& unrolled = site.loop();
  if (unrolled.kind != LoopKind::kFor) {
    return IllegalError(Name(loop), " is no `for` loop");
  }
  if (unrolled.extent > kMostUnrolled) {
    return IllegalError(Name(loop), " has ", unrolled.extent,
                        " iterations, and at most ", kMostUnrolled,
                        " are unrolled; split it");
  }
  const int64_t extent = unrolled.extent;
  const bool owns_privates = extent > 1 && OwnsPrivates(program, unrolled);
  std::vector<Stmt>& stmts = site.block->stmts;
  const auto at = static_cast<int64_t>(site.at);
  IteratorId next = NextIterator(program);
  const Block first = std::move(unrolled.body);
  stmts.erase(stmts.begin() + at);
  // The last one first, so that each stands in front of it; the first one
  // keeps its names.
  for (int64_t k = extent - 1; k >= 0; --k) {
    Block body = first;
    if (k > 0) {
      body = Copy(program, std::move(body), next, owns_privates);
      WalkLoops(body, [&](const For&) { ++next.index; });
    }
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
  For loop{LoopKind::kFor, NextIterator(program), 1, {}};
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
    return IllegalError("all that ", Name(loop), " does is one statement");
  }
  for (size_t k = 1; k < starts.size() && legality == Legality::kProve; ++k) {
    auto dependence = WhyNotDistribute(program, site.loop(), starts[k]);
    if (!dependence) continue;
    const std::string what =
        absl::StrCat("the statements of ", Name(loop), " need each other");
    if (dependence->buffer.valid()) {
      return DependenceError(program, what, *dependence);
    }
    return IllegalError(what, ": one uses a local of another");
  }
  IteratorId next = NextIterator(program);
  std::vector<Stmt> loops;
  starts.push_back(stmts.size());
  for (size_t k = 0; k + 1 < starts.size(); ++k) {
    For own = {site.loop().kind, loop, site.loop().extent, {}};
    for (size_t j = starts[k]; j < starts[k + 1]; ++j) {
      own.body.stmts.push_back(std::move(stmts[j]));
    }
    if (!loops.empty()) {
      own.iterator = next++;
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

absl::Status Collapse(LoopProgram& program, IteratorId outer,
                      IteratorId inner) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, outer));
  For& loop = site.loop();
  const For* in = OnlyLoopIn(loop);
  if (in == nullptr || in->iterator != inner) {
    return IllegalError(Name(inner), " is not all that is in ", Name(outer));
  }
  if (in->kind != loop.kind) {
    return IllegalError(Name(outer), " and ", Name(inner), " differ in kind");
  }
  OCANNL_RETURN_IF_ERROR(Collapser(program, loop, *in).Run(in->body));
  loop.extent *= in->extent;
  Block body = std::move(std::get<For>(loop.body.stmts[0]).body);
  loop.body = std::move(body);
  Substitute(program, loop.body, [&](Symbol symbol) -> Affine {
    if (symbol == Iterator(outer)) return 0;
    return symbol == Iterator(inner) ? Iterator(outer) : symbol;
  });
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
