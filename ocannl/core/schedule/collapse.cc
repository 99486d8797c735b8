// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/collapse.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// Whether the vectors of an axis, or its last one, would have many idle lanes
// (`bazel run //experiments:bench -- --filter=map,net/`).
bool WastesLanes(int64_t extent) {
  constexpr int64_t kLanes = 16;
  return extent > 1 && extent < 4 * kLanes && extent % kLanes != 0;
}

// A loop whose body is nothing but another one.
struct LoopPair {
  IteratorId inner;
  int64_t extent;  // of the inner one
  bool collapses = true;
};

std::optional<IteratorId> IteratorIn(const Affine& index) {
  if (index.terms().size() != 1 || index.terms()[0].factor != 1 ||
      index.terms()[0].symbol.kind != Symbol::kIterator) {
    return std::nullopt;
  }
  return index.terms()[0].symbol.iterator();
}

class Collapser {
 public:
  explicit Collapser(LoopProgram program) : program_(std::move(program)) {
    WalkLoops(program_.body, [&](const For& outer) {
      const For* inner = OnlyLoopIn(outer);
      if (inner == nullptr || outer.kind != LoopKind::kFor ||
          inner->kind != LoopKind::kFor || !WastesLanes(inner->extent)) {
        return;
      }
      pairs_[outer.iterator] = {.inner = inner->iterator,
                                .extent = inner->extent};
      outer_of_[inner->iterator] = outer.iterator;
    });
    for (const Buffer& buffer : program_.buffers) {
      collapses_.push_back(buffer.dims.size() >= 2 &&
                           WastesLanes(buffer.dims.back()));
    }
    has_pair_.resize(collapses_.size());
  }

  // Collapses the last two axes of some buffers; false where there are none.
  bool Run() {
    if (pairs_.empty() || !RunToFixpoint()) return false;
    RewriteStmts(program_.body, [&](Stmt& stmt) { Rewrite(stmt); });
    for (BufferId k : collapses_.ids()) {
      if (!collapses_[k]) continue;
      Dims& dims = program_.buffers[k].dims;
      const int64_t last = dims.back();
      dims.pop_back();
      dims.back() *= last;
    }
    return true;
  }

  LoopProgram Program() && { return std::move(program_); }

 private:
  // Finds what collapses, as a greatest fixed point: a buffer does if all
  // accesses have the two iterators of a collapsing pair as their last two
  // indices, a pair does if it occurs nowhere else. False: nothing does.
  bool RunToFixpoint() {
    do {
      changed_ = false;
      WalkStmts(program_.body, [&](const Stmt& stmt) {
        if (const Set* set = std::get_if<Set>(&stmt)) Check(set->target);
        WalkLeaves(program_, stmt, [&](const LeafValue& leaf) {
          if (const auto* access = std::get_if<Access>(&leaf)) Check(*access);
          if (const auto* lookup = std::get_if<Lookup>(&leaf)) {
            Check(lookup->index);
            Check(lookup->cell);
          }
          if (const auto* index = std::get_if<Affine>(&leaf)) Forbid(*index);
        });
      });
    } while (changed_);
    bool any = false;
    for (BufferId k : collapses_.ids()) {
      collapses_[k] = collapses_[k] && has_pair_[k];
      any = any || collapses_[k];
    }
    return any;
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
      has_pair_[access.buffer] = true;
      ForbidAsInner(*IteratorIn(access.indices[others]));
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
    auto it = pairs_.find(*outer);
    return it != pairs_.end() && it->second.collapses &&
           it->second.inner == *inner &&
           it->second.extent == program_.buffers[access.buffer].dims.back();
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
    auto it = pairs_.find(iterator);
    if (it == pairs_.end() || !it->second.collapses) return;
    it->second.collapses = false;
    changed_ = true;
  }

  void ForbidAsInner(IteratorId iterator) {
    auto it = outer_of_.find(iterator);
    if (it != outer_of_.end()) ForbidAsOuter(it->second);
  }

  void Rewrite(Stmt& stmt) {
    RewriteLeaves(program_, stmt, [&](LeafValue leaf) {
      if (Access* access = std::get_if<Access>(&leaf)) Rewrite(*access);
      if (Lookup* lookup = std::get_if<Lookup>(&leaf)) {
        Rewrite(lookup->index);
        Rewrite(lookup->cell);
      }
      return leaf;
    });
    For* outer = std::get_if<For>(&stmt);
    if (outer == nullptr) return;
    auto it = pairs_.find(outer->iterator);
    if (it == pairs_.end() || !it->second.collapses) return;
    Block body = std::move(std::get<For>(outer->body.stmts[0]).body);
    outer->body = std::move(body);
    outer->extent *= it->second.extent;
  }

  void Rewrite(Access& access) {
    if (!collapses_[access.buffer]) return;
    access.indices.pop_back();
    Affine& last = access.indices.back();
    const int64_t extent = program_.buffers[access.buffer].dims.back();
    last = Iterator(*IteratorIn(last)) + Affine(extent * last.offset());
  }

  LoopProgram program_;
  absl::flat_hash_map<IteratorId, LoopPair> pairs_;  // by the outer iterator
  absl::flat_hash_map<IteratorId, IteratorId> outer_of_;
  IdVector<BufferId, bool> collapses_;
  IdVector<BufferId, bool> has_pair_;  // some access ends in a pair
  bool changed_ = false;
};

}  // namespace

LoopProgram CollapseLoops(LoopProgram program, Decisions& taken) {
  while (true) {
    Collapser collapser(std::move(program));
    const bool collapsed = collapser.Run();
    program = std::move(collapser).Program();
    if (!collapsed) return program;
    taken.Add(Decision::kCollapsedLoops);
  }
}

}  // namespace ocannl
