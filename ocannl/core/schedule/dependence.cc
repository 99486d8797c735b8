// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/dependence.h"

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
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/loop/written_boxes.h"
#include "ocannl/core/schedule/equation.h"

namespace ocannl {
namespace {

// One place of the text that reads or writes memory.
struct Reference {
  int32_t buffer;
  const Access* access;  // null: all of the buffer
  bool writes;
  int stmt;           // the number of its statement
  int any_axis = -1;  // on which the index has any value; -1: none
};

// What a block does to memory and to locals.
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
  absl::flat_hash_set<int32_t> declared;
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

// Those of a list that may be in the way of others of it: of the same buffer,
// one of them writing. What refers to a cell as one before it does is left out:
// whatever it conflicts with, that one does as well, and it comes first.
class Rivals {
 public:
  explicit Rivals(const std::vector<Reference>& references) {
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

  // In their order.
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

  absl::flat_hash_map<int32_t, OfBuffer> known_;
};

// How the values of an iterator compare in two runs of statements.
enum class Order {
  kSame,
  kBefore,  // the first run has a smaller value
  kAfter,
  kAny,
};
using OrderOf = absl::FunctionRef<Order(int32_t)>;

class Tester {
 public:
  // The tests are about statements of `loops`: others may be far away.
  Tester(const LoopProgram& program, std::initializer_list<const For*> loops)
      : program_(program) {
    for (const For* loop : loops) {
      AddExtent(*loop);
      WalkLoops(loop->body, [&](const For& inner) { AddExtent(inner); });
    }
  }

  // Whether the first run may touch a cell that the second one touches, one of
  // them writing.
  bool MayConflict(const Reference& a, const Reference& b, OrderOf order) {
    if (a.buffer != b.buffer || (!a.writes && !b.writes)) return false;
    if (a.access == nullptr || b.access == nullptr) return true;
    // Knowing the order of two values, but not that both are in range; and
    // the other way round.
    auto unordered = [&](int32_t iterator) {
      return order(iterator) == Order::kSame ? Order::kSame : Order::kAny;
    };
    return MayBeSame(a, b, order) && MayBeSame(a, b, unordered);
  }

 private:
  bool MayBeSame(const Reference& a, const Reference& b, OrderOf order) {
    const Indices& a_indices = a.access->indices;
    const Indices& b_indices = b.access->indices;
    for (int axis = 0; axis < static_cast<int>(a_indices.size()); ++axis) {
      if (axis == a.any_axis || axis == b.any_axis) continue;
      if (!MayBeEqual(a_indices[axis], b_indices[axis], order)) return false;
    }
    return true;
  }

  bool MayBeEqual(const Affine& a, const Affine& b, OrderOf order) {
    std::vector<BoundedTerm> terms;
    for (const Affine::Term& term : a.terms()) {
      AddTerms(term.symbol, term.factor, b.FactorOf(term.symbol), order, terms);
    }
    for (const Affine::Term& term : b.terms()) {
      if (a.FactorOf(term.symbol) != 0) continue;
      AddTerms(term.symbol, 0, term.factor, order, terms);
    }
    return MayBeZero(std::move(terms), a.offset() - b.offset());
  }

  // The terms of factor_a * (its value in the first run) - factor_b * (its
  // value in the second).
  void AddTerms(Symbol symbol, int64_t factor_a, int64_t factor_b,
                OrderOf order, std::vector<BoundedTerm>& terms) {
    const Order how =
        symbol.kind == Symbol::kStatic ? Order::kSame : order(symbol.number);
    if (how == Order::kSame && factor_a == factor_b) return;
    const int64_t last = RangeOf(symbol) - 1;
    if (how == Order::kSame && last > 0) {
      terms.push_back({factor_a - factor_b, 0, last});
    } else if (how == Order::kAny && last > 0) {
      terms.push_back({factor_a, 0, last});
      terms.push_back({-factor_b, 0, last});
    } else if (how == Order::kBefore || how == Order::kAfter) {
      // The smaller value and the distance to the greater one.
      const bool before = how == Order::kBefore;
      terms.push_back({before ? -factor_b : factor_a, 1, last});
      if (last > 1) terms.push_back({factor_a - factor_b, 0, last - 1});
    }
  }

  int64_t RangeOf(Symbol symbol) {
    if (symbol.kind == Symbol::kStatic) {
      return program_.statics[symbol.number].range;
    }
    auto known = extents_.find(symbol.number);
    if (known != extents_.end()) return known->second;
    WalkLoops(program_.body, [&](const For& loop) { AddExtent(loop); });
    return extents_.at(symbol.number);
  }

  void AddExtent(const For& loop) { extents_[loop.iterator] = loop.extent; }

  const LoopProgram& program_;
  absl::flat_hash_map<int32_t, int64_t> extents_;  // of loops, by iterator
};

absl::flat_hash_set<int32_t> IteratorsIn(const Block& block) {
  absl::flat_hash_set<int32_t> iterators;
  WalkLoops(block, [&](const For& loop) { iterators.insert(loop.iterator); });
  return iterators;
}

// The private buffers whose contents do not pass from one iteration to another
// or out of the loop.
class RenewedBuffers {
 public:
  RenewedBuffers(const LoopProgram& program, const For& loop)
      : program_(program), written_(program), renewed_(program.buffers.size()) {
    for (size_t k = 0; k < renewed_.size(); ++k) {
      renewed_[k] = program.buffers[k].role == Role::kPrivate;
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

  bool Contains(int32_t buffer) const { return renewed_[buffer]; }

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
        renewed_[access.buffer] = false;
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
        if (!is_written) renewed_[access.buffer] = false;
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
                          if (renewed_[access.buffer]) visit(access, lookup);
                        });
  }

  const LoopProgram& program_;
  WrittenBoxes written_;
  std::vector<bool> renewed_;
};

Obstacle ObstacleOf(const Reference& a, const Reference& b) {
  auto cell = [](const Reference& reference) -> std::optional<Access> {
    if (reference.access == nullptr) return std::nullopt;
    return *reference.access;
  };
  return {.buffer = a.buffer, .first = cell(a), .second = cell(b)};
}

}  // namespace

std::optional<Obstacle> WhyNotParallel(const LoopProgram& program,
                                       const For& loop) {
  const Effects effects = EffectsOf(program, loop.body);
  if (effects.sets_outer_local) return Obstacle{};
  if (loop.extent == 1) return std::nullopt;
  const absl::flat_hash_set<int32_t> inner = IteratorsIn(loop.body);
  auto order = [&](int32_t iterator) {
    return iterator == loop.iterator  ? Order::kBefore
           : inner.contains(iterator) ? Order::kAny
                                      : Order::kSame;
  };
  Tester tester(program, {&loop});
  std::optional<RenewedBuffers> renewed;
  const Rivals rivals(effects.references);
  for (const Reference& a : effects.references) {
    for (const Reference* b : rivals.Of(a)) {
      if (!tester.MayConflict(a, *b, order)) continue;
      const bool is_private = program.buffers[a.buffer].role == Role::kPrivate;
      if (is_private && !renewed) renewed.emplace(program, loop);
      if (!is_private || !renewed->Contains(a.buffer)) return ObstacleOf(a, *b);
    }
  }
  return std::nullopt;
}

std::optional<Obstacle> WhyNotLanes(const LoopProgram& program,
                                    const For& loop) {
  const Effects effects = EffectsOf(program, loop.body);
  if (effects.sets_outer_local || !effects.straight_line) return Obstacle{};
  if (loop.extent == 1) return std::nullopt;
  auto order = [&](int32_t iterator) {
    return iterator == loop.iterator ? Order::kBefore : Order::kSame;
  };
  Tester tester(program, {&loop});
  const Rivals rivals(effects.references);
  for (const Reference& a : effects.references) {
    for (const Reference* b : rivals.Of(a)) {
      // As lanes, a of an earlier iteration still comes before b, and before
      // those behind b.
      const bool kept = a.stmt < b->stmt || (a.stmt == b->stmt && !a.writes);
      if (!kept && tester.MayConflict(a, *b, order)) return ObstacleOf(a, *b);
    }
  }
  return std::nullopt;
}

std::optional<Obstacle> WhyNotInterchange(const LoopProgram& program,
                                          const For& outer) {
  const std::vector<Stmt>& body = outer.body.stmts;
  const For* inner = body.size() == 1 ? std::get_if<For>(&body[0]) : nullptr;
  if (inner == nullptr) return Obstacle{};
  const Effects effects = EffectsOf(program, inner->body);
  if (effects.sets_outer_local) return Obstacle{};
  if (outer.extent == 1 || inner->extent == 1) return std::nullopt;
  const absl::flat_hash_set<int32_t> innermost = IteratorsIn(inner->body);
  auto order = [&](int32_t iterator) {
    return iterator == outer.iterator     ? Order::kBefore
           : iterator == inner->iterator  ? Order::kAfter
           : innermost.contains(iterator) ? Order::kAny
                                          : Order::kSame;
  };
  Tester tester(program, {&outer});
  const Rivals rivals(effects.references);
  for (const Reference& a : effects.references) {
    for (const Reference* b : rivals.Of(a)) {
      if (tester.MayConflict(a, *b, order)) return ObstacleOf(a, *b);
    }
  }
  return std::nullopt;
}

std::optional<Obstacle> WhyNotFuse(const LoopProgram& program, const For& first,
                                   const For& second) {
  if (first.extent != second.extent) return Obstacle{};
  const Effects a_effects = EffectsOf(program, first.body);
  const Effects b_effects = EffectsOf(program, second.body);
  if (a_effects.sets_outer_local || b_effects.sets_outer_local) {
    return Obstacle{};
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
  absl::flat_hash_set<int32_t> inner = IteratorsIn(first.body);
  inner.merge(IteratorsIn(second.body));
  Tester tester(program, {&first, &second});
  const Rivals rivals(a_effects.references);
  for (Reference b : b_effects.references) {
    Access access;
    if (b.access != nullptr) {
      access = renamed(*b.access);
      b.access = &access;
    }
    for (Order own : {Order::kBefore, Order::kAfter}) {
      auto order = [&](int32_t iterator) {
        return iterator == first.iterator ? own
               : inner.contains(iterator) ? Order::kAny
                                          : Order::kSame;
      };
      for (const Reference* a : rivals.Of(b)) {
        if (tester.MayConflict(*a, b, order)) return ObstacleOf(*a, b);
      }
    }
  }
  return std::nullopt;
}

}  // namespace ocannl
