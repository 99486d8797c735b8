// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/virtualize.h"

#include <functional>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/opt/cost.h"

namespace ocannl {
namespace {

// Text, verification and code generation of an expression stay bounded.
constexpr int kMaxCost = 100;

// A top-level nest of loops around a single store.
struct Nest {
  std::vector<int32_t> iterators;
  std::vector<int64_t> extents;
  Set* set;

  int64_t points() const { return NumElements(extents); }
};

std::optional<Nest> AsNest(Stmt& stmt) {
  Nest nest{.iterators = {}, .extents = {}, .set = nullptr};
  Stmt* inner = &stmt;
  while (For* loop = std::get_if<For>(inner)) {
    if (loop->body.stmts.size() != 1) return std::nullopt;
    nest.iterators.push_back(loop->iterator);
    nest.extents.push_back(loop->extent);
    inner = &loop->body.stmts[0];
  }
  nest.set = std::get_if<Set>(inner);
  if (nest.set == nullptr) return std::nullopt;
  return nest;
}

// The buffers that a top-level statement reads, with the indices, and writes.
struct Effects {
  std::vector<Access> reads;
  std::vector<Access> writes;
  std::vector<int32_t> zeroes;
  bool locals = false;

  bool Writes(int32_t buffer) const {
    return absl::c_linear_search(zeroes, buffer) ||
           absl::c_any_of(writes, [&](const Access& access) {
             return access.buffer == buffer;
           });
  }
  bool Reads(int32_t buffer) const {
    return absl::c_any_of(
        reads, [&](const Access& access) { return access.buffer == buffer; });
  }
};

Effects EffectsOf(const LoopProgram& program, const Stmt& stmt) {
  Effects effects;
  auto visit = [&](const Stmt& inner) {
    if (const Set* set = std::get_if<Set>(&inner)) {
      effects.writes.push_back(set->target);
    } else if (const ZeroOut* zero = std::get_if<ZeroOut>(&inner)) {
      effects.zeroes.push_back(zero->buffer);
    }
    const ExprId* value = ValueOf(inner);
    if (value == nullptr) return;
    WalkLeaves(program, *value, [&](const LeafValue& leaf) {
      if (const Access* access = std::get_if<Access>(&leaf)) {
        effects.reads.push_back(*access);
      } else if (std::holds_alternative<GetLocal>(leaf)) {
        effects.locals = true;
      }
    });
  };
  visit(stmt);
  if (const For* loop = std::get_if<For>(&stmt)) WalkStmts(loop->body, visit);
  return effects;
}

// How often a run of the statement reads the buffer, where each statement reads
// different cells of it once.
int64_t CountReads(const LoopProgram& program, const Stmt& stmt,
                   int32_t buffer) {
  int64_t reads = 0;
  if (const For* loop = std::get_if<For>(&stmt)) {
    for (const Stmt& inner : loop->body.stmts) {
      reads += loop->extent * CountReads(program, inner, buffer);
    }
  } else if (const ExprId* value = ValueOf(stmt)) {
    WalkLeaves(program, *value, [&](const LeafValue& leaf) {
      const Access* access = std::get_if<Access>(&leaf);
      reads += access != nullptr && access->buffer == buffer ? 1 : 0;
    });
  }
  return reads;
}

class Virtualizer {
 public:
  explicit Virtualizer(LoopProgram program) : program_(std::move(program)) {
    for (const Stmt& stmt : program_.body.stmts) {
      effects_.push_back(EffectsOf(program_, stmt));
    }
  }

  LoopProgram Run() {
    // In program order, so that what is inlined is inlined already.
    for (size_t k = 0; k < program_.body.stmts.size(); ++k) TryInline(k);
    return std::move(program_);
  }

 private:
  std::vector<Stmt>& stmts() { return program_.body.stmts; }

  void TryInline(size_t definition) {
    std::optional<Nest> nest = AsNest(stmts()[definition]);
    if (!nest || !Defines(definition, *nest)) return;
    const Access& target = nest->set->target;
    int cost = costs_.Cost(program_, nest->set->value);
    if (cost > kMaxCost) return;
    std::vector<size_t> uses;
    int64_t evaluations = 0;
    for (size_t k = definition + 1; k < stmts().size(); ++k) {
      if (!effects_[k].Reads(target.buffer)) continue;
      if (!Unchanged(definition, k, *nest)) return;
      uses.push_back(k);
      evaluations += CountReads(program_, stmts()[k], target.buffer);
    }
    // Against one store per cell and one load per use.
    int64_t stored = kStoreCost * nest->points() + kLoadCost * evaluations +
                     cost * nest->points();
    if (uses.empty() || cost * evaluations > stored) return;
    for (size_t k : uses) {
      Inline(*nest, stmts()[k]);
      effects_[k] = EffectsOf(program_, stmts()[k]);
    }
  }

  // Whether `nest` alone sets every cell of a temp, each once.
  bool Defines(size_t definition, const Nest& nest) const {
    const Access& target = nest.set->target;
    const Buffer& buffer = program_.buffers[target.buffer];
    const Effects& effects = effects_[definition];
    if (buffer.role != Role::kTemp || effects.locals ||
        effects.Reads(target.buffer)) {
      return false;
    }
    for (size_t k = 0; k < effects_.size(); ++k) {
      if (k != definition && effects_[k].Writes(target.buffer)) return false;
    }
    Indices indices;
    for (const Affine& index : target.indices) {
      indices.push_back(index.Substitute([&](Symbol symbol) -> Affine {
        if (symbol.kind == Symbol::kStatic) return symbol;
        auto at = absl::c_find(nest.iterators, symbol.number);
        return Iterator(static_cast<int32_t>(at - nest.iterators.begin()));
      }));
    }
    return IsBijective(nest.extents, indices, buffer.dims);
  }

  // Whether what the definition reads is the same where statement `at` would
  // read it.
  bool Unchanged(size_t definition, size_t at, const Nest& nest) {
    for (const Access& read : effects_[definition].reads) {
      for (size_t k = definition + 1; k < at; ++k) {
        if (effects_[k].Writes(read.buffer)) return false;
      }
      if (!effects_[at].Writes(read.buffer)) continue;
      // In place: each iteration reads just the cell that it alone writes.
      std::optional<Nest> use = AsNest(stmts()[at]);
      if (!use || !ReachesEachOnce(*use)) return false;
      const Access& written = use->set->target;
      for (const Access& site : effects_[at].reads) {
        if (site.buffer != nest.set->target.buffer) continue;
        Access moved = read;
        for (Affine& index : moved.indices) {
          index = index.Substitute(Bind(nest.set->target, site));
        }
        if (!(moved == written)) return false;
      }
    }
    return true;
  }

  bool ReachesEachOnce(const Nest& nest) const {
    return absl::c_all_of(nest.iterators, [&](int32_t iterator) {
      return absl::c_any_of(nest.set->target.indices, [&](const Affine& index) {
        return index.terms().size() == 1 &&
               index.FactorOf(Iterator(iterator)) != 0;
      });
    });
  }

  // The iterators of the definition in terms of the indices of one read.
  static std::function<Affine(Symbol)> Bind(const Access& target,
                                            const Access& site) {
    absl::flat_hash_map<Symbol, Affine> values;
    for (size_t axis = 0; axis < target.indices.size(); ++axis) {
      const Affine& index = target.indices[axis];
      if (index.is_constant()) continue;
      values.emplace(index.terms()[0].symbol, site.indices[axis]);
    }
    return [values = std::move(values)](Symbol symbol) -> Affine {
      auto found = values.find(symbol);
      return found == values.end() ? Affine(symbol) : found->second;
    };
  }

  void Inline(const Nest& nest, Stmt& use) {
    const Access target = nest.set->target;
    auto inlined = [&](const LeafValue& leaf) {
      const Access* site = std::get_if<Access>(&leaf);
      if (site == nullptr || site->buffer != target.buffer) {
        return program_.Read(leaf).id();
      }
      auto bind = Bind(target, *site);
      return RewriteLeaves(
          program_, nest.set->value, [&](const LeafValue& inner) {
            return program_.Read(SubstituteIndices(inner, bind)).id();
          });
    };
    auto rewrite = [&](ExprId value) {
      return RewriteLeaves(program_, value, inlined);
    };
    if (ExprId* value = ValueOf(use)) *value = rewrite(*value);
    if (For* loop = std::get_if<For>(&use)) RewriteValues(loop->body, rewrite);
  }

  LoopProgram program_;
  CostModel costs_;
  std::vector<Effects> effects_;  // of the top-level statements
};

}  // namespace

LoopProgram Virtualize(LoopProgram program) {
  return Virtualizer(std::move(program)).Run();
}

}  // namespace ocannl
