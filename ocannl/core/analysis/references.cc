// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/references.h"

#include <utility>
#include <variant>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

bool IsSame(const Reference& a, const Reference& b) {
  if (a.writes != b.writes || a.any_axis() != b.any_axis()) return false;
  if (a.access == nullptr || b.access == nullptr) return a.access == b.access;
  return *a.access == *b.access;
}

template <class StmtOrBlock>
References CollectReferences(const LoopProgram& program,
                             const StmtOrBlock& of) {
  References references;
  absl::flat_hash_set<LocalId> declared;
  int number = 0;
  WalkStmts(of, [&](const Stmt& stmt) {
    ++number;
    WalkReadsAndLookups(program, stmt,
                        [&](const Access& access, const Lookup* lookup) {
                          references.all.push_back(
                              {access.buffer, &access, false, number, lookup});
                        });
    std::visit(
        Overload{
            [&](const For&) { references.straight_line = false; },
            [&](const Set& set) {
              references.all.push_back(
                  {set.target.buffer, &set.target, true, number});
            },
            [&](const Scatter& scatter) {
              const Lookup& target = program.TargetOf(scatter);
              references.all.push_back(
                  {target.cell.buffer, &target.cell, true, number, &target});
            },
            [&](const DeclareLocal& let) { declared.insert(let.local); },
            [&](const SetLocal& set) {
              references.sets_outer_local |= !declared.contains(set.local);
            },
            [&](const ZeroOut& zero) {
              references.all.push_back({zero.buffer, nullptr, true, number});
              references.straight_line = false;
            },
            [](const Comment&) {},
        },
        static_cast<const Stmt::variant&>(stmt));
  });
  return references;
}

}  // namespace

void WalkStmts(const Stmt& stmt, absl::FunctionRef<void(const Stmt&)> visit) {
  visit(stmt);
  if (const For* loop = std::get_if<For>(&stmt)) WalkStmts(loop->body, visit);
}

void WalkReadsAndLookups(
    const LoopProgram& program, const Stmt& stmt,
    absl::FunctionRef<void(const Access&, const Lookup*)> visit) {
  WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
    if (const Access* access = std::get_if<Access>(&leaf)) {
      visit(*access, nullptr);
    } else if (const Lookup* lookup = std::get_if<Lookup>(&leaf)) {
      visit(*lookup->index, nullptr);
      visit(lookup->cell, lookup);
    }
  });
}

References ReferencesOf(const LoopProgram& program, const Block& block) {
  return CollectReferences(program, block);
}

References ReferencesOf(const LoopProgram& program, const Stmt& stmt) {
  return CollectReferences(program, stmt);
}

ConflictCandidates::ConflictCandidates(
    const std::vector<Reference>& references) {
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

absl::Span<const Reference* const> ConflictCandidates::Of(
    const Reference& reference) const {
  auto known = known_.find(reference.buffer);
  if (known == known_.end()) return {};
  return reference.writes ? known->second.all : known->second.writes;
}

DependenceTester::DependenceTester(const LoopProgram& program,
                                   std::initializer_list<const For*> loops)
    : program_(program) {
  for (const For* loop : loops) {
    AddExtent(*loop);
    WalkLoops(loop->body, [&](const For& inner) { AddExtent(inner); });
  }
}

bool DependenceTester::MayConflict(const Reference& a, const Reference& b,
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

bool DependenceTester::MayBeSame(const Reference& a, const Reference& b,
                                 DirectionOf direction) {
  const Indices& a_indices = a.access->indices;
  const Indices& b_indices = b.access->indices;
  for (int axis = 0; axis < static_cast<int>(a_indices.size()); ++axis) {
    if (axis == a.any_axis() || axis == b.any_axis()) continue;
    if (!MayBeEqual(a_indices[axis], b_indices[axis], direction)) return false;
  }
  return true;
}

bool DependenceTester::MayBeEqual(const Affine& a, const Affine& b,
                                  DirectionOf direction) {
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
void DependenceTester::AddTerms(Symbol symbol, int64_t factor_a,
                                int64_t factor_b, DirectionOf direction,
                                std::vector<BoundedTerm>& terms) {
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

int64_t DependenceTester::RangeOf(Symbol symbol) {
  if (symbol.kind == Symbol::kStatic) {
    return program_.statics[symbol.number].range;
  }
  auto known = extents_.find(symbol.iterator());
  if (known != extents_.end()) return known->second;
  WalkLoops(program_.body, [&](const For& loop) { AddExtent(loop); });
  return extents_.at(symbol.iterator());
}

}  // namespace ocannl
