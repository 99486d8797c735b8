// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/depth.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rewrite/savepoint.h"

namespace ocannl::rewrite {
namespace {

// `outer`, a loop of the program, changes places with the one in it.
absl::Status Interchange(const LoopProgram& program, For& outer,
                         Legality legality) {
  For& inner = *OnlyLoopIn(outer);
  if (legality == Legality::kProve) {
    OCANNL_RETURN_IF_ERROR(
        CheckNone(WhyNotInterchange(program, outer), program,
                  absl::StrCat(Name(outer.iterator), " and ",
                               Name(inner.iterator), " cannot change places")));
  }
  std::swap(outer.kind, inner.kind);
  std::swap(outer.iterator, inner.iterator);
  std::swap(outer.extent, inner.extent);
  // What was parallel for each iteration of the loop around it may not be for
  // all of them.
  return legality == Legality::kProve ? CheckKind(program, outer, outer.kind)
                                      : absl::OkStatus();
}

std::string NamesOf(absl::Span<const IteratorId> loops) {
  return absl::StrJoin(loops, ", ", [](std::string* text, IteratorId loop) {
    absl::StrAppend(text, Name(loop));
  });
}

// Brings the loops of `chain`, outermost first, into `order`, step by step.
absl::Status Permute(LoopProgram& program, std::vector<IteratorId> chain,
                     absl::Span<const IteratorId> order, Legality legality) {
  for (size_t to = 0; to < order.size(); ++to) {
    size_t from = to;
    while (chain[from] != order[to]) ++from;
    for (; from > to; --from) {
      OCANNL_ASSIGN_OR_RETURN(const LoopSite outer,
                              FindLoop(program, chain[from - 1]));
      OCANNL_RETURN_IF_ERROR(Interchange(program, outer.loop(), legality));
      std::swap(chain[from - 1], chain[from]);
    }
  }
  return absl::OkStatus();
}

// The loop goes over strips of `size` iterations. Returns the loop over a
// strip.
absl::StatusOr<IteratorId> StripMine(LoopProgram& program, IteratorId loop,
                                     int64_t size) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  For& strips = site.loop();
  if (size < 1 || size > strips.extent) {
    return UserError(Name(loop), " has ", strips.extent,
                     " iterations: no strips of ", size, " fit");
  }
  if (site.depth() + LoopDepthOf(strips.body) + 2 > kMaxLoopDepth) {
    return UserError(Name(loop), " is in a nest of ", kMaxLoopDepth,
                     " loops, which is the most; split another one");
  }
  const int64_t count = strips.extent / size;
  const int64_t rest = strips.extent % size;
  For strip{strips.kind == LoopKind::kPar ? LoopKind::kFor : strips.kind,
            program.FreshIterator(), size, std::move(strips.body)};
  const IteratorId over_strip = strip.iterator;
  if (strips.kind != LoopKind::kPar) strips.kind = LoopKind::kFor;
  std::optional<For> tail;
  if (rest > 0) {
    tail = For{strip.kind, program.FreshIterator(), rest, strip.body};
    // What is private to one statement of the program's body stays so.
    tail->body = Copy(program, std::move(tail->body), site.in_body());
    Substitute(program, tail->body, loop,
               Iterator(tail->iterator) + Affine(count * size));
  }
  Substitute(program, strip.body, loop,
             size * Affine(Iterator(loop)) + Iterator(strip.iterator));
  strips.extent = count;
  strips.body.stmts = {std::move(strip)};
  if (tail) {
    site.block->stmts.insert(
        site.block->stmts.begin() + static_cast<int64_t>(site.at) + 1,
        *std::move(tail));
  }
  return over_strip;
}

// Splits the loop in groups of `factor` iterations and puts the loop over a
// group inside.
absl::Status SplitAndJam(LoopProgram& program, IteratorId loop, int64_t factor,
                         Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(LoopSite site, FindLoop(program, loop));
  if (factor != site.loop().extent) {
    OCANNL_ASSIGN_OR_RETURN(const IteratorId group,
                            StripMine(program, loop, factor));
    OCANNL_ASSIGN_OR_RETURN(site, FindLoop(program, group));
  }
  For* group = &site.loop();
  For* inner = OnlyLoopIn(*group);
  while (inner != nullptr && inner->kind != LoopKind::kVec) {
    OCANNL_RETURN_IF_ERROR(Interchange(program, *group, legality));
    group = inner;
    inner = OnlyLoopIn(*group);
  }
  group->kind = LoopKind::kUnroll;
  return absl::OkStatus();
}

// What a rewrite makes of the nest, or the nest as it was. What is trusted
// fails before it changes anything.
absl::Status ChangeNest(LoopProgram& program, size_t nest, Legality legality,
                        absl::FunctionRef<absl::Status()> change) {
  if (legality == Legality::kTrust) return change();
  Savepoint before(program);
  before.Save(nest);
  return before.RollBackUnlessOk(change());
}

}  // namespace

absl::Status Split(LoopProgram& program, IteratorId loop, int64_t size) {
  return StripMine(program, loop, size).status();
}

absl::Status Reorder(LoopProgram& program, absl::Span<const IteratorId> order,
                     Legality legality) {
  for (IteratorId first : order) {
    OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, first));
    std::vector<IteratorId> chain = IteratorsOf(LoopChain(site.loop()));
    chain.resize(std::min(chain.size(), order.size()));
    if (!absl::c_is_permutation(chain, order)) continue;
    return ChangeNest(program, site.nest, legality,
                      [&] { return Permute(program, chain, order, legality); });
  }
  return UserError("of ", NamesOf(order), " each must be all that is in the ",
                   "loop around it");
}

absl::Status Vectorize(LoopProgram& program, IteratorId loop,
                       Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  if (site.loop().extent > kMostLanes) {
    return UserError(Name(loop), " has ", site.loop().extent,
                     " iterations; split it to have at most ", kMostLanes,
                     " lanes");
  }
  if (legality == Legality::kProve) {
    OCANNL_RETURN_IF_ERROR(CheckKind(program, site.loop(), LoopKind::kVec));
  }
  site.loop().kind = LoopKind::kVec;
  return absl::OkStatus();
}

absl::Status UnrollJam(LoopProgram& program, IteratorId loop, int64_t factor,
                       Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  if (site.loop().kind != LoopKind::kFor) {
    return UserError(Name(loop), " is no `for` loop");
  }
  return ChangeNest(program, site.nest, legality, [&] {
    return SplitAndJam(program, loop, factor, legality);
  });
}

absl::Status Parallel(LoopProgram& program, IteratorId loop,
                      Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  bool is_around = false;
  WalkLoops(site.loop().body, [&](const For& inner) {
    is_around = is_around || inner.kind == LoopKind::kPar;
  });
  if (is_around || absl::c_any_of(site.around, [](const For* outer) {
        return outer->kind == LoopKind::kPar;
      })) {
    return UserError(Name(loop), " is ", is_around ? "around" : "inside of",
                     " a loop that is parallel already");
  }
  if (legality == Legality::kProve) {
    OCANNL_RETURN_IF_ERROR(CheckKind(program, site.loop(), LoopKind::kPar));
  }
  site.loop().kind = LoopKind::kPar;
  return absl::OkStatus();
}

absl::Status Fuse(LoopProgram& program, IteratorId first, IteratorId second,
                  Legality legality) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite a, FindLoop(program, first));
  OCANNL_ASSIGN_OR_RETURN(const LoopSite b, FindLoop(program, second));
  const std::string what =
      absl::StrCat(Name(first), " and ", Name(second), " cannot be fused");
  if (a.block != b.block || b.at <= a.at) {
    return UserError(what, ": the second must stand behind the first, in ",
                     "the same block");
  }
  if (a.loop().kind != b.loop().kind || a.loop().extent != b.loop().extent) {
    return UserError(what, ": they differ in kind or in how often they run");
  }
  std::vector<Stmt>& stmts = a.block->stmts;
  if (legality == Legality::kProve) {
    if (FirstConflict(program, stmts, a.at + 1, b.at, stmts[b.at]) < b.at) {
      return UserError(what, ": what stands between them has to run before ",
                       "the second");
    }
    OCANNL_RETURN_IF_ERROR(
        CheckNone(WhyNotFuse(program, a.loop(), b.loop()), program, what));
  }
  const bool vec = a.loop().kind == LoopKind::kVec;
  std::optional<Savepoint> before;
  if (vec && legality == Legality::kProve) {
    before.emplace(program);
    before->Save(a.nest);
    before->Save(b.nest);
  }
  Block body = std::move(b.loop().body);
  Substitute(program, body, second, Iterator(first));
  absl::c_move(body.stmts, std::back_inserter(a.loop().body.stmts));
  const auto begin = stmts.begin();
  const size_t comments = FirstCommentOf(stmts, b.at);
  stmts.erase(begin + static_cast<int64_t>(b.at));
  std::rotate(begin + static_cast<int64_t>(a.at),
              begin + static_cast<int64_t>(comments),
              begin + static_cast<int64_t>(b.at));
  if (!before) return absl::OkStatus();
  return before->RollBackUnlessOk(Vectorize(program, first, legality));
}

}  // namespace ocannl::rewrite
