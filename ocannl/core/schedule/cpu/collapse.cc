// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/collapse.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/random.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl {
namespace {

// Whether the vectors of an axis, or its last one, would have many idle lanes
// (`bazel run //experiments:bench -- --filter=map,net/`).
bool WastesLanes(int64_t extent) {
  constexpr int64_t kLanes = 16;
  return extent > 1 && extent < 4 * kLanes && extent % kLanes != 0;
}

// A window of a draw (jit/vcode/select/draw.h) has at most so many cells.
constexpr int64_t kLongestWindow = 64;

// A loop whose body is nothing but another one.
struct Candidate {
  IteratorId outer;
  IteratorId inner;
  int64_t extent;  // of the inner one
  bool collapses = true;
  bool is_used = false;  // by an access whose axes collapse
};

std::optional<IteratorId> IteratorIn(const Affine& index) {
  if (index.terms().size() != 1 || index.terms()[0].factor != 1 ||
      index.terms()[0].symbol.kind != Symbol::kIterator) {
    return std::nullopt;
  }
  return index.terms()[0].symbol.iterator();
}

// Finds what collapses, as a greatest fixed point: the last two axes of a
// buffer do if all accesses have the two iterators of a collapsing pair as
// their last two indices, a pair does if it occurs nowhere else, and at all.
class PairFinder {
 public:
  explicit PairFinder(const LoopProgram& program) : program_(program) {
    FindDraws();
    WalkLoops(program_.body, [&](const For& outer) {
      const For* inner = OnlyLoopIn(outer);
      if (inner == nullptr || outer.kind != LoopKind::kFor ||
          inner->kind != LoopKind::kFor || !IsShort(inner->extent)) {
        return;
      }
      pair_of_outer_[outer.iterator] = pairs_.size();
      pair_of_inner_[inner->iterator] = pairs_.size();
      pairs_.push_back({outer.iterator, inner->iterator, inner->extent});
    });
    for (const Buffer& buffer : program_.buffers) {
      collapses_.push_back(buffer.dims.size() >= 2 &&
                           IsShort(buffer.dims.back()));
    }
  }

  std::vector<Candidate> Run() && {
    if (pairs_.empty()) return {};
    do {
      changed_ = false;
      WalkStmts(program_.body, [&](const Stmt& stmt) {
        if (const Set* set = std::get_if<Set>(&stmt)) Check(set->target);
        WalkLeaves(program_, stmt, [&](const LeafValue& leaf) {
          if (const auto* access = std::get_if<Access>(&leaf)) Check(*access);
          if (const auto* lookup = std::get_if<Lookup>(&leaf)) {
            Check(*lookup->index);
            Check(lookup->cell);
          }
          if (const auto* index = std::get_if<Affine>(&leaf)) Check(*index);
        });
      });
    } while (changed_);
    std::erase_if(pairs_, [](const Candidate& pair) {
      return !pair.collapses || !pair.is_used;
    });
    return std::move(pairs_);
  }

 private:
  // The extents of innermost loops whose lanes share random blocks with those
  // of the next row.
  void FindDraws() {
    WalkLoops(program_.body, [&](const For& loop) {
      if (loop.extent < 2 || loop.extent >= kLongestWindow) return;
      for (const Stmt& stmt : loop.body.stmts) {
        const ExprId* value = ValueOf(stmt);
        if (value == nullptr) continue;
        WalkNodes(program_.exprs, *value, [&](const ExprNode& node) {
          const Apply* apply = std::get_if<Apply>(&node);
          if (apply != nullptr && IsDraw(apply->op)) {
            drawn_.insert(loop.extent);
          }
        });
      }
    });
  }

  // Whether vectors of an axis of `extent` would leave too much idle.
  bool IsShort(int64_t extent) const {
    return WastesLanes(extent) || drawn_.contains(extent);
  }

  // An index as a number stays one if it counts the iterations of both loops.
  void Check(const Affine& index) {
    for (Candidate& pair : pairs_) {
      if (!pair.collapses) continue;
      if (index.FactorOf(Iterator(pair.outer)) ==
          pair.extent * index.FactorOf(Iterator(pair.inner))) {
        continue;
      }
      pair.collapses = false;
      changed_ = true;
    }
  }

  void Check(const Access& access) {
    const bool fits = collapses_[access.buffer] && EndsInPair(access);
    if (collapses_[access.buffer] && !fits) {
      collapses_[access.buffer] = false;
      changed_ = true;
    }
    size_t others = access.indices.size();
    if (fits) {
      others -= 2;
      const IteratorId outer = *IteratorIn(access.indices[others]);
      pairs_[pair_of_outer_.at(outer)].is_used = true;
      ForbidAsInner(outer);
      ForbidAsOuter(*IteratorIn(access.indices[others + 1]));
    }
    for (size_t k = 0; k < others; ++k) Forbid(access.indices[k]);
  }

  bool EndsInPair(const Access& access) const {
    const size_t rank = access.indices.size();
    const std::optional<IteratorId> outer =
        IteratorIn(access.indices[rank - 2]);
    const Affine& last = access.indices[rank - 1];
    const std::optional<IteratorId> inner = IteratorIn(last);
    if (!outer || !inner || last.offset() != 0) return false;
    auto it = pair_of_outer_.find(*outer);
    if (it == pair_of_outer_.end()) return false;
    const Candidate& pair = pairs_[it->second];
    return pair.collapses && pair.inner == *inner &&
           pair.extent == program_.buffers[access.buffer].dims.back();
  }

  // The iterators of `index` stay as they are.
  void Forbid(const Affine& index) {
    for (const Affine::Term& term : index.terms()) {
      if (term.symbol.kind != Symbol::kIterator) continue;
      ForbidAsOuter(term.symbol.iterator());
      ForbidAsInner(term.symbol.iterator());
    }
  }

  void ForbidAsOuter(IteratorId iterator) {
    ForbidIn(pair_of_outer_, iterator);
  }
  void ForbidAsInner(IteratorId iterator) {
    ForbidIn(pair_of_inner_, iterator);
  }

  using PairOf = absl::flat_hash_map<IteratorId, size_t>;  // number in pairs_

  void ForbidIn(const PairOf& pair_of, IteratorId iterator) {
    auto it = pair_of.find(iterator);
    if (it == pair_of.end() || !pairs_[it->second].collapses) return;
    pairs_[it->second].collapses = false;
    changed_ = true;
  }

  const LoopProgram& program_;
  absl::flat_hash_set<int64_t> drawn_;
  std::vector<Candidate> pairs_;  // outer loops before inner ones
  PairOf pair_of_outer_;
  PairOf pair_of_inner_;
  IdVector<BufferId, bool> collapses_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> CollapseLoops(LoopProgram& program,
                                   rewrite::Script* script) {
  rewrite::Rewriter rewriter(program, script);
  bool collapsed = false;
  while (true) {
    std::vector<rewrite::LoopPair> pairs;
    for (const Candidate& pair : PairFinder(program).Run()) {
      pairs.emplace_back(pair.outer, pair.inner);
    }
    if (pairs.empty()) return collapsed;
    OCANNL_RETURN_IF_ERROR(rewriter.CollapsePairs(pairs));
    collapsed = true;
  }
}

}  // namespace ocannl
