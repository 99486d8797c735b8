// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/virtualize.h"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/index/projections.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/ops/rows.h"
#include "ocannl/core/opt/cost.h"
#include "ocannl/core/opt/def_use.h"

namespace ocannl {
namespace {

// A top-level nest of loops around a single store.
struct Nest {
  IdVector<IteratorId, IteratorId> iterators;  // in the program
  LoopExtents extents;
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

// Whether each iteration sets a cell of its own.
bool ReachesEachOnce(const Nest& nest) {
  return absl::c_all_of(nest.iterators, [&](IteratorId iterator) {
    return absl::c_any_of(nest.set->target.indices, [&](const Affine& index) {
      return index.terms().size() == 1 &&
             index.FactorOf(Iterator(iterator)) != 0;
    });
  });
}

// The cell that is all of the value, or null.
const Access* CellOf(const LoopProgram& program, const Nest& nest) {
  const Leaf* leaf = std::get_if<Leaf>(&program.exprs[nest.set->value]);
  return leaf == nullptr ? nullptr : std::get_if<Access>(&program.At(*leaf));
}

bool IsLarge(const LoopProgram& program, const Access& access) {
  const Buffer& buffer = program.buffers[access.buffer];
  const auto cell = static_cast<int64_t>(SizeOf(buffer.dtype));
  return NumElements(buffer.dims) * cell >= kLargeBytes;
}

// How often a run of the statement reads the buffer, where each statement reads
// different cells of it once.
int64_t CountReads(const LoopProgram& program, const Stmt& stmt,
                   BufferId buffer) {
  int64_t reads = 0;
  if (const For* loop = std::get_if<For>(&stmt)) {
    for (const Stmt& inner : loop->body.stmts) {
      reads += loop->extent * CountReads(program, inner, buffer);
    }
  }
  WalkReads(program, stmt, [&](const Access& access) {
    reads += access.buffer == buffer ? 1 : 0;
  });
  return reads;
}

// The iterators of a definition in terms of the indices of one read.
struct Binding {
  const Access& target;
  const Access& site;

  Affine operator()(Symbol symbol) const {
    for (size_t axis = 0; axis < target.indices.size(); ++axis) {
      if (target.indices[axis].FactorOf(symbol) != 0) return site.indices[axis];
    }
    // A loop that the target's cell does not tell runs once.
    return symbol.kind == Symbol::kStatic ? Affine(symbol) : Affine(0);
  }
};

class Virtualizer {
 public:
  explicit Virtualizer(LoopProgram program)
      : program_(std::move(program)),
        chains_(program_),
        is_dead_(stmts().size()) {}

  LoopProgram Run() {
    // In program order, so that what is inlined is inlined already.
    for (size_t k = 0; k < stmts().size(); ++k) TryInline(k);
    std::erase_if(stmts(), [&](const Stmt& stmt) {
      return is_dead_[&stmt - stmts().data()];
    });
    return std::move(program_);
  }

  // What keeps the buffer from being inlined, after all before it is; empty: it
  // can be.
  std::string WhyNotInlined(absl::string_view name) {
    std::optional<absl::string_view> first;
    for (size_t k = 0; k < stmts().size(); ++k) {
      const std::optional<Nest> nest = AsNest(stmts()[k]);
      const absl::string_view error = TryInline(k);
      if (nest && program_.buffers[nest->set->target.buffer].name == name &&
          (!first || first->empty())) {
        first = error;
      }
    }
    return std::string(first.value_or(kSeveralSteps));
  }

 private:
  // Why it is illegal to inline a definition, or not profitable.
  static constexpr absl::string_view kSeveralSteps =
      "its cells are set in more than one step, as those of a sum are";

  std::vector<Stmt>& stmts() { return program_.body.stmts; }

  int NumLargeReads(size_t place) const {
    return static_cast<int>(absl::c_count_if(
        chains_[place].reads,
        [&](const Access* read) { return IsLarge(program_, *read); }));
  }

  // Whether the large buffers that the definition reads are stored anyway. A
  // temp that nothing else reads may be fused with the definition.
  bool ReadsWhatIsStored(size_t definition) const {
    return absl::c_all_of(chains_[definition].reads, [&](const Access* read) {
      const BufferId id = read->buffer;
      if (program_.buffers[id].role != Role::kTemp) return true;
      return !IsLarge(program_, *read) ||
             absl::c_any_of(
                 chains_.Readers(id, 0, is_dead_.size()), [&](uint32_t k) {
                   return k != definition && !is_dead_[k] &&
                          !absl::c_linear_search(chains_[k].writes, id);
                 });
    });
  }

  // Inlines what the statement defines, or returns why it does not.
  absl::string_view TryInline(size_t definition) {
    std::optional<Nest> nest = AsNest(stmts()[definition]);
    if (!nest) return kSeveralSteps;
    const absl::string_view error = DefinitionError(definition, *nest);
    if (!error.empty()) return error;
    const Access& target = nest->set->target;
    const size_t next = chains_.NextWriter(definition, target.buffer);
    const DefUse::Places uses =
        chains_.Readers(target.buffer, definition, next + 1);
    if (uses.empty()) return "";
    int64_t evaluations = 0;
    for (size_t k : uses) {
      if (!Unchanged(definition, k, *nest)) {
        return "what it is computed from changes before it is used";
      }
      if (IsLookedUp(k, *nest)) {
        return "an index is looked up in it or is one of its cells";
      }
      const std::optional<Nest> use = AsNest(stmts()[k]);
      evaluations += use ? use->points() * chains_[k].NumReads(target.buffer)
                         : CountReads(program_, stmts()[k], target.buffer);
    }
    int cost = CostOf(program_, nest->set->value);
    static_assert(kMaxInlinedCost == 100);
    if (cost > kMaxInlinedCost) {
      return "a cell of it costs more than 100 simple operations do";
    }
    // Against one store per cell and one load per use.
    int store = kStoreCost, load = kLoadCost;
    if (IsLarge(program_, target) && ReadsWhatIsStored(definition)) {
      store = kLargeStoreCost;
      load = kLargeLoadCost;
      cost += (kLargeLoadCost - kLoadCost) * NumLargeReads(definition);
    }
    const int64_t stored = (store + cost) * nest->points() + load * evaluations;
    const bool at_any_cost =
        program_.buffers[target.buffer].role == Role::kVirtual;
    if (cost * evaluations > stored && !at_any_cost) {
      return "to compute it again costs more than to load it";
    }
    if (!at_any_cost && SumsLookups(definition, uses)) {
      return "to sum what is looked up costs more than to load it";
    }
    for (size_t k : uses) {
      Inline(*nest, stmts()[k]);
      if (nest->iterators.empty() && chains_[k].lookups.empty() &&
          std::holds_alternative<Set>(stmts()[k])) {
        chains_.MoveReads(definition, target.buffer, k);
      } else {
        chains_.Update(k, definition);
      }
    }
    is_dead_[definition] = true;
    return "";
  }

  // Whether statement `at` looks up cells of the nest, or in other buffers by
  // them: what is looked up is memory, and so is the index, which may be
  // replaced by another cell.
  bool IsLookedUp(size_t at, const Nest& nest) const {
    const BufferId buffer = nest.set->target.buffer;
    return absl::c_any_of(chains_[at].lookups, [&](const Lookup* lookup) {
      return lookup->cell.buffer == buffer ||
             (lookup->index->buffer == buffer &&
              CellOf(program_, nest) == nullptr);
    });
  }

  // Whether one of the statements sums what the definition looks up: sums of
  // contiguous cells are faster.
  bool SumsLookups(size_t definition, absl::Span<const uint32_t> uses) const {
    if (chains_[definition].lookups.empty()) return false;
    return absl::c_any_of(uses, [&](size_t k) {
      return absl::c_any_of(chains_[k].reads, [&](const Access* read) {
        return absl::c_linear_search(chains_[k].writes, read->buffer);
      });
    });
  }

  // Why it is not so that `nest` alone sets every cell of what may be inlined,
  // each once; empty: it is.
  absl::string_view DefinitionError(size_t definition, const Nest& nest) {
    const Access& target = nest.set->target;
    const Buffer& buffer = program_.buffers[target.buffer];
    if (buffer.role != Role::kTemp && buffer.role != Role::kVirtual) {
      return "it is memory";
    }
    if (chains_[definition].locals ||
        chains_[definition].NumReads(target.buffer) > 0 ||
        !IsReplacedWhole(definition, target.buffer)) {
      return kSeveralSteps;
    }
    return CoverError(nest);
  }

  // Whether the next nest that sets the buffer, if any, sets all its cells, and
  // reads none after it. Then only statements up to it read those of the
  // definition.
  bool IsReplacedWhole(size_t definition, BufferId buffer) {
    const size_t next = chains_.NextWriter(definition, buffer);
    if (next == stmts().size() ||
        std::holds_alternative<ZeroOut>(stmts()[next])) {
      return true;
    }
    const std::optional<Nest> nest = AsNest(stmts()[next]);
    return nest && CoverError(*nest).empty() &&
           absl::c_all_of(chains_[next].reads, [&](const Access* read) {
             return read->buffer != buffer || *read == nest->set->target;
           });
  }

  // Why the nest does not set each cell of its buffer just once; empty: it
  // does.
  absl::string_view CoverError(const Nest& nest) const {
    const Access& target = nest.set->target;
    const Buffer& buffer = program_.buffers[target.buffer];
    Indices indices;
    indices.reserve(target.indices.size());
    for (const Affine& index : target.indices) {
      if (index.terms().size() > 1) {
        return "one index of its cells stands for several axes, as where a "
               "reshape merges them";
      }
      indices.push_back(index.Substitute([&](Symbol symbol) -> Affine {
        for (IteratorId k : nest.iterators.ids()) {
          if (symbol == Iterator(nest.iterators[k])) return Iterator(k);
        }
        return symbol;  // static
      }));
    }
    if (IsBijective(nest.extents, indices, buffer.dims)) return "";
    return "not each of its cells is set just once";
  }

  // Whether what the definition reads is the same where statement `at` would
  // read it.
  bool Unchanged(size_t definition, size_t at, const Nest& nest) {
    for (const Access* read : chains_[definition].reads) {
      const size_t next = chains_.NextWriter(definition, read->buffer);
      if (next > at) continue;
      if (next < at) return false;
      // In place: each iteration reads just the cell that it alone writes.
      std::optional<Nest> use = AsNest(stmts()[at]);
      if (!use || !ReachesEachOnce(*use) ||
          !chains_[definition].lookups.empty()) {
        return false;
      }
      const Access& written = use->set->target;
      for (const Access* site : chains_[at].reads) {
        if (site->buffer != nest.set->target.buffer) continue;
        Access substituted = *read;
        for (Affine& index : substituted.indices) {
          index = index.Substitute(Binding{nest.set->target, *site});
        }
        if (!(substituted == written)) return false;
      }
    }
    return true;
  }

  void Inline(const Nest& nest, Stmt& use) {
    const Access& target = nest.set->target;
    auto inlined = [&](ExprId id) {
      const Leaf* leaf = std::get_if<Leaf>(&program_.exprs[id]);
      if (leaf == nullptr) return id;
      const LeafValue& read = program_.At(*leaf);  // stays where it is
      const Access* site = std::get_if<Access>(&read);
      const Lookup* lookup = std::get_if<Lookup>(&read);
      if (lookup != nullptr && lookup->index->buffer == target.buffer) {
        return program_.Read(LookedUpAt(nest, *lookup)).id();
      }
      if (site == nullptr || site->buffer != target.buffer) return id;
      if (nest.iterators.empty()) return nest.set->value;
      const Binding bind{target, *site};
      return RewriteLeaves(
          program_, nest.set->value, [&](const LeafValue& inner) {
            return program_.Read(SubstituteIndices(inner, bind)).id();
          });
    };
    ExprMap done;
    auto rewrite = [&](Stmt& stmt) {
      if (ExprId* value = ValueOf(stmt)) {
        *value = Rewrite(program_.exprs, *value, done, inlined);
      }
      Scatter* scatter = std::get_if<Scatter>(&stmt);
      if (scatter == nullptr) return;
      const Lookup& lookup = program_.TargetOf(*scatter);
      if (lookup.index->buffer != target.buffer) return;
      scatter->target = program_.leaves.Add(LookedUpAt(nest, lookup));
    };
    rewrite(use);
    if (For* loop = std::get_if<For>(&use)) RewriteStmts(loop->body, rewrite);
  }

  // The lookup with the cell that `nest` copies as its index.
  Lookup LookedUpAt(const Nest& nest, Lookup lookup) const {
    const Binding bind{nest.set->target, *lookup.index};
    LeafValue index = SubstituteIndices(*CellOf(program_, nest), bind);
    lookup.index = std::get<Access>(std::move(index));
    return lookup;
  }

  LoopProgram program_;
  DefUse chains_;
  std::vector<bool> is_dead_;  // inlined wherever it is read
};

}  // namespace

LoopProgram Virtualize(LoopProgram program) {
  return Virtualizer(std::move(program)).Run();
}

std::string WhyNotInlined(LoopProgram program, absl::string_view name) {
  return Virtualizer(std::move(program)).WhyNotInlined(name);
}

}  // namespace ocannl
