// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/fuse_nests.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/map.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rows.h"
#include "ocannl/core/schedule/tiling/plan.h"
#include "ocannl/core/schedule/verify_part.h"

namespace ocannl {
namespace {

// Statements ahead where a nest looks for consumers (bench --filter=compile/).
constexpr size_t kMaxDistance = 64;

constexpr BufferId kElided = {};  // the buffer of an elided zero_out

// The statements of the result so far, and which of them name a buffer.
class FusedBody {
 public:
  // `program` is the one of the statements.
  explicit FusedBody(const LoopProgram& program) : program_(program) {}

  void Append(Stmt stmt, FusedNest nest) {
    stmts_.push_back(std::move(stmt));
    nests_.push_back(std::move(nest));
  }

  // Those that name one of the buffers, in order.
  std::vector<Stmt> Naming(const absl::flat_hash_set<BufferId>& buffers) {
    CollectUses();
    std::set<size_t> places;
    for (BufferId buffer : buffers) {
      places.insert(uses_[buffer].begin(), uses_[buffer].end());
    }
    std::vector<Stmt> stmts;
    for (size_t k : places) stmts.push_back(stmts_[k]);
    return stmts;
  }

  // Elides the zero_out that only the next nest would read.
  bool ElideZeroInit(BufferId buffer) {
    CollectUses();
    std::vector<size_t>& uses = uses_[buffer];
    if (uses.empty()) return false;
    ZeroOut* zero = std::get_if<ZeroOut>(&stmts_[uses.back()]);
    if (zero == nullptr) return false;
    zero->buffer = kElided;
    uses.pop_back();
    return true;
  }

  // They become the body of `program`.
  FusedProgram MoveTo(LoopProgram program) && {
    FusedProgram fused{.program = std::move(program), .nests = {}};
    std::vector<Stmt>& stmts = fused.program.body.stmts;
    stmts.clear();
    for (size_t k = 0; k < stmts_.size(); ++k) {
      const ZeroOut* zero = std::get_if<ZeroOut>(&stmts_[k]);
      if (zero != nullptr && zero->buffer == kElided) continue;
      stmts.push_back(std::move(stmts_[k]));
      fused.nests.push_back(std::move(nests_[k]));
    }
    return fused;
  }

 private:
  // Has uses_ know all of stmts_.
  void CollectUses() {
    for (; seen_ < stmts_.size(); ++seen_) {
      const Effects effects = EffectsOf(program_, stmts_[seen_]);
      for (BufferId read : effects.reads) uses_[read].push_back(seen_);
      for (BufferId written : effects.writes) uses_[written].push_back(seen_);
    }
  }

  const LoopProgram& program_;
  std::vector<Stmt> stmts_;
  std::vector<FusedNest> nests_;  // of each of them
  size_t seen_ = 0;               // of them are in uses_
  absl::flat_hash_map<BufferId, std::vector<size_t>> uses_;
};

class NestFuser {
 public:
  NestFuser(LoopProgram program, const Target& target, Decisions& taken)
      : program_(std::move(program)),
        target_(target),
        taken_(taken),
        stmts_(program_.body.stmts),
        nests_(stmts_.size()),
        body_(program_) {
    program_.next_iterator = NextIterator(program_);
    for (const Stmt& stmt : stmts_) {
      effects_.push_back(EffectsOf(program_, stmt));
    }
  }

  FusedProgram Run() && {
    // How often a statement was sunk from here: two producers of one consumer
    // would be sunk past each other for ever.
    size_t sunk = 0;
    for (size_t k = 0; k < stmts_.size(); ++k) {
      const auto left = absl::MakeConstSpan(stmts_).subspan(k);
      if (k >= rows_from_) rows_from_ = k + CountPlainRows(program_, left);
      std::optional<FusedRows> rows;
      if (k >= rows_from_) rows = FuseRows(program_, left, target_);
      if (rows && IsProvable(k, *rows)) {
        taken_.Add(Decision::kFusedRows);
        k += rows->count - 1;
        body_.Append(rows->loop, *rows);
        continue;
      }
      const std::optional<PerfectNest> nest = Plannable(k);
      if (const auto scatter = AsScatterNest(program_, stmts_[k])) {
        const ScatterNest repeating = WithoutUnitLoops(program_, *scatter);
        body_.Append(Around(repeating.loops, {repeating.scatter}), repeating);
        continue;
      }
      if (!nest) {
        RecordKept(stmts_[k]);
        body_.Append(stmts_[k], {});
        continue;
      }
      if (sunk < kMaxDistance && SinkToConsumer(k, *nest)) {
        taken_.Add(Decision::kSunkToConsumer);
        ++sunk;
        --k;
        continue;
      }
      sunk = 0;
      nest->accumulates() ? Accumulate(k, *nest) : Map(k, *nest);
    }
    return std::move(body_).MoveTo(std::move(program_));
  }

 private:
  // Whether Verify sees that every cell that `rows` read, of what they write,
  // is written before, and in the end all of them are: in the rows alone, or
  // with them in place of stmts_[k] and those behind it, as it may need a loop
  // as a whole. Of the other statements it looks at those that touch what the
  // rows write.
  bool IsProvable(size_t k, const FusedRows& rows) {
    if (IsProvableAlone(program_, {{rows.loop}})) return true;
    const absl::flat_hash_set<BufferId> written =
        WrittenIn(program_, {{rows.loop}});
    Block block{body_.Naming(written)};
    block.stmts.push_back(rows.loop);
    auto is_written = [&](BufferId buffer) { return written.contains(buffer); };
    for (size_t j = k + rows.count; j < stmts_.size(); ++j) {
      if (absl::c_any_of(effects_[j].reads, is_written) ||
          absl::c_any_of(effects_[j].writes, is_written)) {
        block.stmts.push_back(stmts_[j]);
      }
    }
    return IsVerified(program_, std::move(block),
                      [&](BufferId buffer, Role role) {
                        return is_written(buffer) ? role : Role::kInOut;
                      });
  }

  // stmts_[k] as a nest of only the loops that repeat.
  const std::optional<PerfectNest>& NestOf(size_t k) {
    if (!nests_[k]) {
      nests_[k] = AsPerfectNest(program_, stmts_[k]);
      std::optional<PerfectNest>& nest = *nests_[k];
      if (nest) nest = WithoutUnitLoops(program_, *std::move(nest));
    }
    return *nests_[k];
  }

  std::optional<PerfectNest> Plannable(size_t k) {
    const std::optional<PerfectNest>& nest = NestOf(k);
    if (!nest) return std::nullopt;
    const Buffer& buffer = program_.buffers[nest->set.target.buffer];
    bool plannable = nest->accumulates() ? SizeOf(buffer.dtype) >= 4
                                         : FindLaneLoop(program_, *nest) >= 0;
    return plannable ? nest : std::nullopt;
  }

  // ---- Consumers of a result -----------------------------------------------

  // stmts_[j] over the loops of `nest`, if its loops have the same extents.
  std::optional<Set> Matched(const PerfectNest& nest, size_t j) {
    const std::optional<PerfectNest>& other = NestOf(j);
    if (!other || other->accumulates()) return std::nullopt;
    if (nest.outputs.size() != other->outputs.size()) return std::nullopt;
    rewrite::IteratorMap places;
    for (size_t k = 0; k < nest.outputs.size(); ++k) {
      if (nest.outputs[k].extent != other->outputs[k].extent) {
        return std::nullopt;
      }
      places[other->outputs[k].iterator] = Iterator(nest.outputs[k].iterator);
    }
    Stmt stmt = other->set;
    rewrite::Substitute(program_, stmt, places);
    return std::get<Set>(stmt);
  }

  // stmts_[j] over the loops of `nest`, if it reads what `sets` write and may
  // be fused with them elementwise.
  std::optional<Set> FusibleConsumer(const ElementwiseGroup& sets,
                                     const PerfectNest& nest, size_t j) {
    const bool reads = absl::c_any_of(
        effects_[j].reads, [&](BufferId b) { return sets.Writes(b); });
    if (!reads) return std::nullopt;
    std::optional<Set> user = Matched(nest, j);
    return user && sets.CanAppend(*user) ? user : std::nullopt;
  }

  // Whether stmts_[j] is a comment: distances, up to `last`, do not count them.
  bool SkipsComment(size_t j, size_t& last) const {
    return std::holds_alternative<Comment>(stmts_[j]) && ++last;
  }

  // The statements that epilogue the result of stmts_[k] cell by cell and can
  // be brought to it. They leave those behind stmts_[k], which moves on to the
  // last place in front of those that stay.
  std::vector<Set> FuseConsumers(size_t& k, const PerfectNest& nest) {
    std::vector<Set> consumers;
    ElementwiseGroup sets(program_);
    sets.Add(nest.set);
    std::vector<Effects> between;
    size_t last = k + kMaxDistance;
    for (size_t j = k + 1; j < stmts_.size() && j <= last; ++j) {
      if (SkipsComment(j, last)) continue;
      std::optional<Set> user = FusibleConsumer(sets, nest, j);
      bool joins = user && absl::c_none_of(between, [&](const Effects& passed) {
                     return Conflict(passed, effects_[j]);
                   });
      if (joins) {
        sets.Add(*user);
        consumers.push_back(*std::move(user));
        if (j >= rows_from_) rows_from_ = 0;
        // Those in between are few, those behind may be many.
        Rotate(k, j, j + 1);
        ++k;
        ++last;
      } else {
        between.push_back(effects_[j]);
      }
    }
    return consumers;
  }

  // As std::rotate: stmts_[middle] comes to the place of stmts_[first].
  void Rotate(size_t first, size_t middle, size_t last) {
    auto rotate = [&](auto& of) {
      std::rotate(&of[first], &of[middle], of.data() + last);
    };
    rotate(stmts_);
    rotate(effects_);
    rotate(nests_);
  }

  // Where the first consumer cannot be hoisted to stmts_[k], sinks stmts_[k] to
  // it (compute_at).
  bool SinkToConsumer(size_t k, const PerfectNest& nest) {
    if (!nest.accumulates()) return false;
    ElementwiseGroup sets(program_);
    sets.Add(nest.set);
    bool is_blocked = false;
    size_t last = k + kMaxDistance;
    for (size_t j = k + 1; j < stmts_.size() && j <= last; ++j) {
      if (SkipsComment(j, last)) continue;
      if (FusibleConsumer(sets, nest, j)) {
        if (!is_blocked) return false;
        if (j >= rows_from_) rows_from_ = 0;
        Rotate(k, k + 1, j);
        return true;
      }
      if (Conflict(effects_[k], effects_[j])) return false;
      is_blocked = is_blocked || PreventsSinking(j, last, nest);
    }
    return false;
  }

  // Whether a dependence on stmts_[j] keeps the next consumer of the result, up
  // to stmts_[last], from being hoisted over it.
  bool PreventsSinking(size_t j, size_t last, const PerfectNest& nest) {
    for (size_t u = j + 1; u < stmts_.size() && u <= last; ++u) {
      if (SkipsComment(u, last)) continue;
      if (absl::c_linear_search(effects_[u].reads, nest.set.target.buffer)) {
        return Conflict(effects_[j], effects_[u]);
      }
    }
    return false;
  }

  // ---- Writing -------------------------------------------------------------

  // Whether the nest writes every element, and its tiles do so in boxes, as
  // Verify proves: those of y[20*i1 + i2] have gaps.
  bool CoversTarget(const PerfectNest& nest) const {
    for (const Affine& index : nest.set.target.indices) {
      if (index.terms().size() > 1) return false;
    }
    int64_t cells = 1;
    for (const NestLoop& loop : nest.outputs) cells *= loop.extent;
    return cells == NumElements(program_.buffers[nest.set.target.buffer].dims);
  }

  void Map(size_t& k, const PerfectNest& nest) {
    MapNest map{.nest = nest, .consumers = FuseConsumers(k, nest)};
    std::vector<Stmt> sets = {nest.set};
    absl::c_copy(map.consumers, std::back_inserter(sets));
    body_.Append(Around(nest.outputs, std::move(sets)), std::move(map));
  }

  void Accumulate(size_t& k, const PerfectNest& nest) {
    ContractPlan plan = PlanContract(program_, nest, target_);
    Epilogue epilogue;
    // Between blocks of k the accumulators are in the target.
    if (!plan.has_k_blocks()) {
      const BufferId buffer = nest.set.target.buffer;
      epilogue.sets = FuseConsumers(k, nest);
      epilogue.beta_is_zero = CoversTarget(nest) && body_.ElideZeroInit(buffer);
    }
    Contraction contraction(program_, nest, std::move(plan),
                            std::move(epilogue));
    Stmt stmt = contraction.AsStmt(program_);
    body_.Append(std::move(stmt), std::move(contraction));
  }

  void RecordKept(const Stmt& stmt) {
    if (!std::holds_alternative<For>(stmt)) return;
    taken_.Add(Decision::kKept);
    taken_.AddIf(absl::c_any_of(EffectsOf(program_, stmt).writes,
                                [&](BufferId buffer) {
                                  return program_.buffers[buffer].role ==
                                         Role::kPrivate;
                                }),
                 Decision::kKeptPrivates);
  }

  LoopProgram program_;
  const Target& target_;
  Decisions& taken_;
  // program_.body stays as it was until the end.
  std::vector<Stmt> stmts_;       // those behind the current one may still move
  std::vector<Effects> effects_;  // of each of them
  std::vector<std::optional<std::optional<PerfectNest>>> nests_;  // if asked
  size_t rows_from_ = 0;  // FuseRows finds nothing before it
  FusedBody body_;
};

}  // namespace

FusedProgram FuseNests(LoopProgram program, const Target& target,
                       Decisions& taken) {
  return NestFuser(std::move(program), target, taken).Run();
}

}  // namespace ocannl
