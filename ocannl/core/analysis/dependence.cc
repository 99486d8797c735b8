// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/dependence.h"

#include <initializer_list>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/equation.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/must_write.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

// A reference: an access in the text of the program.
struct Reference {
  BufferId buffer;
  const Access* access;  // null: all of the buffer
  bool writes;
  int stmt;           // the number of its statement
  int any_axis = -1;  // on which the index has any value; -1: none
};

// The memory and locals that a block touches.
struct Effects {
  std::vector<Reference> references;
  bool sets_outer_local = false;
  bool straight_line = true;
};

// Every cell that `stmt` reads and, of one that is looked up, how; else null.
void WalkReadsAndLookups(
    const LoopProgram& program, const Stmt& stmt,
    absl::FunctionRef<void(const Access&, const Lookup*)> visit) {
  WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
    if (const Access* access = std::get_if<Access>(&leaf)) {
      visit(*access, nullptr);
    } else if (const Lookup* lookup = std::get_if<Lookup>(&leaf)) {
      visit(lookup->index, nullptr);
      visit(lookup->cell, lookup);
    }
  });
}

Effects EffectsOf(const LoopProgram& program, const Block& block) {
  Effects effects;
  absl::flat_hash_set<LocalId> declared;
  int number = 0;
  WalkStmts(block, [&](const Stmt& stmt) {
    ++number;
    WalkReadsAndLookups(
        program, stmt, [&](const Access& access, const Lookup* lookup) {
          effects.references.push_back({access.buffer, &access, false, number,
                                        lookup == nullptr ? -1 : lookup->axis});
        });
    std::visit(
        Overload{
            [&](const For&) { effects.straight_line = false; },
            [&](const Set& set) {
              effects.references.push_back(
                  {set.target.buffer, &set.target, true, number});
            },
            [&](const Scatter& scatter) {
              const Lookup& target = program.TargetOf(scatter);
              effects.references.push_back({target.cell.buffer, &target.cell,
                                            true, number, target.axis});
            },
            [&](const DeclareLocal& let) { declared.insert(let.local); },
            [&](const SetLocal& set) {
              effects.sets_outer_local |= !declared.contains(set.local);
            },
            [&](const ZeroOut& zero) {
              effects.references.push_back(
                  {zero.buffer, nullptr, true, number});
              effects.straight_line = false;
            },
            [](const Comment&) {},
        },
        static_cast<const Stmt::variant&>(stmt));
  });
  return effects;
}

// The references of a list with which others of it may conflict: of the same
// buffer, one of the two a write. Equal references are tested once.
class ConflictCandidates {
 public:
  explicit ConflictCandidates(const std::vector<Reference>& references) {
    for (const Reference& reference : references) {
      OfBuffer& known = known_[reference.buffer];
      const bool is_known = absl::c_any_of(
          known.all,
          [&](const Reference* other) { return IsSame(*other, reference); });
      if (is_known) continue;
      known.all.push_back(&reference);
      if (reference.writes) known.writes.push_back(&reference);
    }
  }

  // In their direction.
  absl::Span<const Reference* const> Of(const Reference& reference) const {
    auto known = known_.find(reference.buffer);
    if (known == known_.end()) return {};
    return reference.writes ? known->second.all : known->second.writes;
  }

 private:
  struct OfBuffer {
    std::vector<const Reference*> all;
    std::vector<const Reference*> writes;
  };

  static bool IsSame(const Reference& a, const Reference& b) {
    if (a.writes != b.writes || a.any_axis != b.any_axis) return false;
    if (a.access == nullptr || b.access == nullptr) return a.access == b.access;
    return *a.access == *b.access;
  }

  absl::flat_hash_map<BufferId, OfBuffer> known_;
};

// An entry of a direction vector: how the values of an iterator compare in the
// source and the sink of a dependence.
enum class Direction {
  kEqual,
  kLess,  // the source has the smaller value
  kGreater,
  kAny,
};
using DirectionOf = absl::FunctionRef<Direction(IteratorId)>;

class DependenceTester {
 public:
  // The tests are about statements in `loops`.
  DependenceTester(const LoopProgram& program,
                   std::initializer_list<const For*> loops)
      : program_(program) {
    for (const For* loop : loops) {
      AddExtent(*loop);
      WalkLoops(loop->body, [&](const For& inner) { AddExtent(inner); });
    }
  }

  // Whether a dependence from `a` to `b` may exist under the direction vector.
  bool MayConflict(const Reference& a, const Reference& b,
                   DirectionOf direction) {
    if (a.buffer != b.buffer || (!a.writes && !b.writes)) return false;
    if (a.access == nullptr || b.access == nullptr) return true;
    // With the direction, but less precise bounds; and the other way round.
    auto undirected = [&](IteratorId iterator) {
      return direction(iterator) == Direction::kEqual ? Direction::kEqual
                                                      : Direction::kAny;
    };
    return MayBeSame(a, b, direction) && MayBeSame(a, b, undirected);
  }

 private:
  bool MayBeSame(const Reference& a, const Reference& b,
                 DirectionOf direction) {
    const Indices& a_indices = a.access->indices;
    const Indices& b_indices = b.access->indices;
    for (int axis = 0; axis < static_cast<int>(a_indices.size()); ++axis) {
      if (axis == a.any_axis || axis == b.any_axis) continue;
      if (!MayBeEqual(a_indices[axis], b_indices[axis], direction))
        return false;
    }
    return true;
  }

  bool MayBeEqual(const Affine& a, const Affine& b, DirectionOf direction) {
    std::vector<BoundedTerm> terms;
    for (const Affine::Term& term : a.terms()) {
      AddTerms(term.symbol, term.factor, b.FactorOf(term.symbol), direction,
               terms);
    }
    for (const Affine::Term& term : b.terms()) {
      if (a.FactorOf(term.symbol) != 0) continue;
      AddTerms(term.symbol, 0, term.factor, direction, terms);
    }
    return HasSolution(std::move(terms), a.offset() - b.offset());
  }

  // The terms of factor_a * (its value in the source) - factor_b * (its value
  // in the sink).
  void AddTerms(Symbol symbol, int64_t factor_a, int64_t factor_b,
                DirectionOf direction, std::vector<BoundedTerm>& terms) {
    const Direction how = symbol.kind == Symbol::kStatic
                              ? Direction::kEqual
                              : direction(symbol.iterator());
    if (how == Direction::kEqual && factor_a == factor_b) return;
    const int64_t last = RangeOf(symbol) - 1;
    if (how == Direction::kEqual && last > 0) {
      terms.push_back({factor_a - factor_b, 0, last});
    } else if (how == Direction::kAny && last > 0) {
      terms.push_back({factor_a, 0, last});
      terms.push_back({-factor_b, 0, last});
    } else if (how == Direction::kLess || how == Direction::kGreater) {
      // The smaller value and the dependence distance.
      const bool before = how == Direction::kLess;
      terms.push_back({before ? -factor_b : factor_a, 1, last});
      if (last > 1) terms.push_back({factor_a - factor_b, 0, last - 1});
    }
  }

  int64_t RangeOf(Symbol symbol) {
    if (symbol.kind == Symbol::kStatic) {
      return program_.statics[symbol.number].range;
    }
    auto known = extents_.find(symbol.iterator());
    if (known != extents_.end()) return known->second;
    WalkLoops(program_.body, [&](const For& loop) { AddExtent(loop); });
    return extents_.at(symbol.iterator());
  }

  void AddExtent(const For& loop) { extents_[loop.iterator] = loop.extent; }

  const LoopProgram& program_;
  absl::flat_hash_map<IteratorId, int64_t> extents_;
};

absl::flat_hash_set<IteratorId> IteratorsIn(const Block& block) {
  absl::flat_hash_set<IteratorId> iterators;
  WalkLoops(block, [&](const For& loop) { iterators.insert(loop.iterator); });
  return iterators;
}

// The private buffers that are privatizable: no value flows from one iteration
// to another or out of the loop (array privatization, Tu and Padua 1993).
class PrivatizableBuffers {
 public:
  PrivatizableBuffers(const LoopProgram& program, const For& loop)
      : program_(program),
        written_(program),
        privatizable_(program.buffers.size()) {
    for (BufferId k : privatizable_.ids()) {
      privatizable_[k] = IsOfNest(program.buffers[k].role);
    }
    absl::Span<const Stmt> stmts = program.body.stmts;
    // A private buffer belongs to one of them.
    for (size_t k = 0; k < stmts.size(); ++k) {
      if (!IsIn(stmts[k], loop)) continue;
      stmts = stmts.subspan(k, 1);
      break;
    }
    VisitOutside(stmts, loop);
  }

  bool Contains(BufferId buffer) const { return privatizable_[buffer]; }

 private:
  static bool IsIn(const Stmt& stmt, const For& inside) {
    const For* outermost = std::get_if<For>(&stmt);
    if (outermost == nullptr) return false;
    bool is_in = outermost->iterator == inside.iterator;
    WalkLoops(outermost->body, [&](const For& loop) {
      is_in |= loop.iterator == inside.iterator;
    });
    return is_in;
  }

  // Everything but `inside`, whose body Visit walks.
  void VisitOutside(absl::Span<const Stmt> stmts, const For& inside) {
    for (const Stmt& stmt : stmts) {
      VisitReads(stmt, [&](const Access& access, const Lookup*) {
        privatizable_[access.buffer] = false;
      });
      const For* loop = std::get_if<For>(&stmt);
      if (loop == nullptr) continue;
      written_.Enter(*loop);
      loop->iterator == inside.iterator
          ? Visit(loop->body)
          : VisitOutside(loop->body.stmts, inside);
      written_.Leave();
    }
  }

  void Visit(const Block& block) {
    for (const Stmt& stmt : block.stmts) {
      VisitReads(stmt, [&](const Access& access, const Lookup* lookup) {
        const bool is_written = lookup == nullptr ? written_.Covers(access)
                                                  : written_.Covers(*lookup);
        if (!is_written) privatizable_[access.buffer] = false;
      });
      if (const For* loop = std::get_if<For>(&stmt)) {
        written_.Enter(*loop);
        Visit(loop->body);
        written_.Leave();
      } else if (const Set* set = std::get_if<Set>(&stmt)) {
        written_.Write(set->target);
      } else if (const ZeroOut* zero = std::get_if<ZeroOut>(&stmt)) {
        written_.WriteAll(zero->buffer);
      }
    }
  }

  // `visit` gets a cell and, of one that is looked up, how.
  void VisitReads(const Stmt& stmt,
                  absl::FunctionRef<void(const Access&, const Lookup*)> visit) {
    WalkReadsAndLookups(program_, stmt,
                        [&](const Access& access, const Lookup* lookup) {
                          if (privatizable_[access.buffer])
                            visit(access, lookup);
                        });
  }

  const LoopProgram& program_;
  MustWriteRegions written_;
  IdVector<BufferId, bool> privatizable_;
};

Dependence DependenceOf(const Reference& a, const Reference& b) {
  auto cell = [](const Reference& reference) -> std::optional<Access> {
    if (reference.access == nullptr) return std::nullopt;
    return *reference.access;
  };
  return {.buffer = a.buffer, .first = cell(a), .second = cell(b)};
}

}  // namespace

std::optional<Dependence> WhyNotParallel(const LoopProgram& program,
                                         const For& loop) {
  const Effects effects = EffectsOf(program, loop.body);
  if (effects.sets_outer_local) return Dependence{};
  if (loop.extent == 1) return std::nullopt;
  const absl::flat_hash_set<IteratorId> inner = IteratorsIn(loop.body);
  auto direction = [&](IteratorId iterator) {
    return iterator == loop.iterator  ? Direction::kLess
           : inner.contains(iterator) ? Direction::kAny
                                      : Direction::kEqual;
  };
  DependenceTester tester(program, {&loop});
  std::optional<PrivatizableBuffers> privatizable;
  const ConflictCandidates candidates(effects.references);
  for (const Reference& a : effects.references) {
    for (const Reference* b : candidates.Of(a)) {
      if (!tester.MayConflict(a, *b, direction)) continue;
      const bool is_private = IsOfNest(program.buffers[a.buffer].role);
      if (is_private && !privatizable) privatizable.emplace(program, loop);
      if (!is_private || !privatizable->Contains(a.buffer))
        return DependenceOf(a, *b);
    }
  }
  return std::nullopt;
}

std::optional<Dependence> WhyNotVectorizable(const LoopProgram& program,
                                             const For& loop) {
  const Effects effects = EffectsOf(program, loop.body);
  if (effects.sets_outer_local || !effects.straight_line) return Dependence{};
  if (loop.extent == 1) return std::nullopt;
  auto direction = [&](IteratorId iterator) {
    return iterator == loop.iterator ? Direction::kLess : Direction::kEqual;
  };
  DependenceTester tester(program, {&loop});
  const ConflictCandidates candidates(effects.references);
  for (const Reference& a : effects.references) {
    for (const Reference* b : candidates.Of(a)) {
      // As lanes, a of an earlier iteration still comes before b, and before
      // those behind b.
      const bool kept = a.stmt < b->stmt || (a.stmt == b->stmt && !a.writes);
      if (!kept && tester.MayConflict(a, *b, direction))
        return DependenceOf(a, *b);
    }
  }
  return std::nullopt;
}

std::optional<Dependence> WhyNotInterchange(const LoopProgram& program,
                                            const For& outer) {
  const std::vector<Stmt>& body = outer.body.stmts;
  const For* inner = body.size() == 1 ? std::get_if<For>(&body[0]) : nullptr;
  if (inner == nullptr) return Dependence{};
  const Effects effects = EffectsOf(program, inner->body);
  if (effects.sets_outer_local) return Dependence{};
  if (outer.extent == 1 || inner->extent == 1) return std::nullopt;
  const absl::flat_hash_set<IteratorId> innermost = IteratorsIn(inner->body);
  auto direction = [&](IteratorId iterator) {
    return iterator == outer.iterator     ? Direction::kLess
           : iterator == inner->iterator  ? Direction::kGreater
           : innermost.contains(iterator) ? Direction::kAny
                                          : Direction::kEqual;
  };
  DependenceTester tester(program, {&outer});
  const ConflictCandidates candidates(effects.references);
  for (const Reference& a : effects.references) {
    for (const Reference* b : candidates.Of(a)) {
      if (tester.MayConflict(a, *b, direction)) return DependenceOf(a, *b);
    }
  }
  return std::nullopt;
}

std::optional<Dependence> WhyNotFuse(const LoopProgram& program,
                                     const For& first, const For& second) {
  if (first.extent != second.extent) return Dependence{};
  const Effects a_effects = EffectsOf(program, first.body);
  const Effects b_effects = EffectsOf(program, second.body);
  if (a_effects.sets_outer_local || b_effects.sets_outer_local) {
    return Dependence{};
  }
  // Gives both loops one iterator, that of the first.
  auto renamed = [&](const Access& access) {
    Access result = access;
    for (Affine& index : result.indices) {
      index = index.Substitute([&](Symbol symbol) -> Affine {
        bool is_second = symbol == Iterator(second.iterator);
        return is_second ? Iterator(first.iterator) : symbol;
      });
    }
    return result;
  };
  absl::flat_hash_set<IteratorId> inner = IteratorsIn(first.body);
  inner.merge(IteratorsIn(second.body));
  DependenceTester tester(program, {&first, &second});
  const ConflictCandidates candidates(a_effects.references);
  for (Reference b : b_effects.references) {
    Access access;
    if (b.access != nullptr) {
      access = renamed(*b.access);
      b.access = &access;
    }
    for (Direction own : {Direction::kLess, Direction::kGreater}) {
      auto direction = [&](IteratorId iterator) {
        return iterator == first.iterator ? own
               : inner.contains(iterator) ? Direction::kAny
                                          : Direction::kEqual;
      };
      for (const Reference* a : candidates.Of(b)) {
        if (tester.MayConflict(*a, b, direction)) return DependenceOf(*a, b);
      }
    }
  }
  return std::nullopt;
}

}  // namespace ocannl
