// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/dependence.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "ocannl/core/analysis/references.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/must_write.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {
namespace {

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
      : program_(program), written_(program) {
    absl::Span<const Stmt> stmts = program.body.stmts;
    // A private buffer belongs to one of them.
    for (size_t k = 0; k < stmts.size(); ++k) {
      if (!IsIn(stmts[k], loop)) continue;
      stmts = stmts.subspan(k, 1);
      break;
    }
    VisitOutside(stmts, loop);
  }

  bool Contains(BufferId buffer) const {
    return IsOfNest(program_.buffers[buffer].role) && !flows_.contains(buffer);
  }

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
        flows_.insert(access.buffer);
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
        if (!is_written) flows_.insert(access.buffer);
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
                          if (Contains(access.buffer)) visit(access, lookup);
                        });
  }

  const LoopProgram& program_;
  MustWriteRegions written_;
  absl::flat_hash_set<BufferId> flows_;  // a value of them does
};

// Whether `second` reads a local that `first` declares.
bool ReadsLocalOf(const LoopProgram& program, const Block& first,
                  const Block& second) {
  absl::flat_hash_set<LocalId> declared;
  WalkStmts(first, [&](const Stmt& stmt) {
    const auto* let = std::get_if<DeclareLocal>(&stmt);
    if (let != nullptr) declared.insert(let->local);
  });
  bool reads = false;
  WalkStmts(second, [&](const Stmt& stmt) {
    WalkLeaves(program, stmt, [&](const LeafValue& leaf) {
      const auto* get = std::get_if<GetLocal>(&leaf);
      reads |= get != nullptr && declared.contains(get->local);
    });
  });
  return reads;
}

Dependence DependenceOf(const Reference& a, const Reference& b) {
  auto cell = [](const Reference& reference) -> std::optional<Access> {
    if (reference.access == nullptr) return std::nullopt;
    return *reference.access;
  };
  return {.buffer = a.buffer, .first = cell(a), .second = cell(b)};
}

// Whether an iteration of the loop may have scratch of the role to itself:
// threads and lanes of a block share what is `shared`.
bool HasItsOwn(const For& loop, Role role) {
  const bool is_thread =
      loop.kind == LoopKind::kThread || loop.kind == LoopKind::kVec;
  return role == Role::kPrivate || (role == Role::kShared && !is_thread);
}

// Of an access of `from` and one of `to`, of which the candidates are.
std::optional<Dependence> FirstConflict(
    DependenceTester& tester, absl::Span<const Reference> from,
    const ConflictCandidates& to,
    absl::FunctionRef<Direction(IteratorId)> direction) {
  for (const Reference& a : from) {
    for (const Reference* b : to.Of(a)) {
      if (tester.MayConflict(a, *b, direction)) return DependenceOf(a, *b);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Dependence> WhyNotParallel(const LoopProgram& program,
                                         const For& loop) {
  const References effects = ReferencesOf(program, loop.body);
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
  const ConflictCandidates candidates(effects.all);
  for (const Reference& a : effects.all) {
    const bool is_private = HasItsOwn(loop, program.buffers[a.buffer].role);
    auto is_privatizable = [&] {
      return is_private && privatizable && privatizable->Contains(a.buffer);
    };
    // Of such a buffer one conflict, with which it was found, tells all.
    if (is_privatizable()) continue;
    for (const Reference* b : candidates.Of(a)) {
      if (!tester.MayConflict(a, *b, direction)) continue;
      if (is_private && !privatizable) privatizable.emplace(program, loop);
      if (!is_privatizable()) return DependenceOf(a, *b);
      break;
    }
  }
  return std::nullopt;
}

bool IsPrivatizable(const LoopProgram& program, const For& loop,
                    BufferId buffer) {
  return PrivatizableBuffers(program, loop).Contains(buffer);
}

std::optional<Dependence> WhyNotVectorizable(const LoopProgram& program,
                                             const For& loop) {
  const References effects = ReferencesOf(program, loop.body);
  if (effects.sets_outer_local || !effects.straight_line) return Dependence{};
  if (loop.extent == 1) return std::nullopt;
  auto direction = [&](IteratorId iterator) {
    return iterator == loop.iterator ? Direction::kLess : Direction::kEqual;
  };
  DependenceTester tester(program, {&loop});
  const ConflictCandidates candidates(effects.all);
  for (const Reference& a : effects.all) {
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
  const For* inner = OnlyLoopIn(outer);
  if (inner == nullptr) return Dependence{};
  const References effects = ReferencesOf(program, inner->body);
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
  return FirstConflict(tester, effects.all, ConflictCandidates(effects.all),
                       direction);
}

std::optional<Dependence> WhyNotFuse(const LoopProgram& program,
                                     const For& first, const For& second) {
  if (first.extent != second.extent) return Dependence{};
  References a_effects = ReferencesOf(program, first.body);
  References b_effects = ReferencesOf(program, second.body);
  if (a_effects.sets_outer_local || b_effects.sets_outer_local) {
    return Dependence{};
  }
  absl::flat_hash_set<BufferId> written;
  for (References* effects : {&a_effects, &b_effects}) {
    for (const Reference& reference : effects->all) {
      if (reference.writes) written.insert(reference.buffer);
    }
  }
  // Many loops may read one buffer that none writes.
  std::erase_if(a_effects.all, [&](const Reference& reference) {
    return !written.contains(reference.buffer);
  });
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
  const ConflictCandidates candidates(a_effects.all);
  for (Reference b : b_effects.all) {
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

std::optional<Dependence> WhyNotDistribute(const LoopProgram& program,
                                           const For& loop, size_t at) {
  const auto middle = loop.body.stmts.begin() + static_cast<int64_t>(at);
  const Block first{{loop.body.stmts.begin(), middle}};
  const Block second{{middle, loop.body.stmts.end()}};
  const References a_effects = ReferencesOf(program, first);
  const References b_effects = ReferencesOf(program, second);
  if (a_effects.sets_outer_local || b_effects.sets_outer_local ||
      ReadsLocalOf(program, first, second)) {
    return Dependence{};
  }
  if (loop.extent == 1) return std::nullopt;
  const absl::flat_hash_set<IteratorId> inner = IteratorsIn(loop.body);
  auto direction = [&](IteratorId iterator) {
    return iterator == loop.iterator  ? Direction::kLess
           : inner.contains(iterator) ? Direction::kAny
                                      : Direction::kEqual;
  };
  // What an iteration has done in the second is not to come after what a later
  // one does in the first.
  DependenceTester tester(program, {&loop});
  return FirstConflict(tester, b_effects.all, ConflictCandidates(a_effects.all),
                       direction);
}

absl::Status CheckNone(const std::optional<Dependence>& dependence,
                       const LoopProgram& program, absl::string_view what) {
  if (!dependence) return absl::OkStatus();
  auto error = [&](auto... parts) { return UserError(what, parts...); };
  if (!dependence->buffer.valid()) {
    return error(": a local or a zero_out in it belongs to all iterations");
  }
  auto text = [&](const std::optional<Access>& access) {
    return access ? PrintAccess(program, *access)
                  : program.buffers[dependence->buffer].name;
  };
  const std::string first = text(dependence->first);
  const std::string second = text(dependence->second);
  if (first == second) {
    return error(": several iterations touch and write `", first, "`");
  }
  return error(": one iteration touches as `", first,
               "` what another does as `", second, "`, and one writes it");
}

}  // namespace ocannl
