// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/fuse_nests.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/fused_body.h"
#include "ocannl/core/schedule/nest_rewriter.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"
#include "ocannl/core/schedule/rows.h"
#include "ocannl/core/schedule/tiling/plan.h"
#include "ocannl/core/schedule/verify_part.h"

namespace ocannl {
namespace {

// Statements ahead where a nest looks for consumers (bench --filter=compile/).
constexpr size_t kMaxDistance = 64;

// `other` over the loops of `nest`, if its loops have the same extents.
std::optional<Set> Matched(LoopProgram& program, const PerfectNest& nest,
                           const CanonicalNest& other) {
  const auto* map = std::get_if<PerfectNest>(&other);
  if (map == nullptr || map->accumulates()) return std::nullopt;
  if (nest.outputs.size() != map->outputs.size()) return std::nullopt;
  rewrite::IteratorMap places;
  for (size_t k = 0; k < nest.outputs.size(); ++k) {
    if (nest.outputs[k].extent != map->outputs[k].extent) return std::nullopt;
    places[map->outputs[k].iterator] = Iterator(nest.outputs[k].iterator);
  }
  Stmt stmt = map->set;
  rewrite::Substitute(program, stmt, places);
  return std::get<Set>(stmt);
}

void RecordKept(const LoopProgram& program, const Stmt& stmt,
                Decisions& taken) {
  if (!std::holds_alternative<For>(stmt)) return;
  taken.Add(Decision::kKept);
  taken.AddIf(absl::c_any_of(EffectsOf(program, stmt).writes,
                             [&](BufferId buffer) {
                               return program.buffers[buffer].role ==
                                      Role::kPrivate;
                             }),
              Decision::kKeptPrivates);
}

class NestFuser {
 public:
  NestFuser(LoopProgram program, std::vector<CanonicalNest> nests,
            const Target& target, const FuseOptions& options)
      : program_(std::move(program)),
        target_(target),
        options_(options),
        taken_(options.taken),
        script_(options.script),
        stmts_(program_.body.stmts),
        nests_(std::move(nests)),
        body_(program_) {
    for (const Stmt& stmt : stmts_) {
      effects_.push_back(EffectsOf(program_, stmt));
    }
  }

  absl::StatusOr<FusedProgram> Run() && {
    // How often a statement was sunk from here: two producers of one consumer
    // would be sunk past each other for ever.
    size_t sunk = 0;
    for (size_t k = 0; k < stmts_.size(); ++k) {
      if (AppendRows(k)) continue;
      if (const auto* scatter = std::get_if<ScatterNest>(&nests_[k])) {
        body_.Append(stmts_[k], *scatter);
        continue;
      }
      const PerfectNest* nest = Plannable(k);
      if (nest == nullptr) {
        RecordKept(program_, stmts_[k], taken_);
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
      const PerfectNest fused = *nest;  // nests_ will move
      OCANNL_RETURN_IF_ERROR(fused.accumulates() ? Accumulate(k, fused)
                                                 : Map(k, fused));
    }
    return std::move(body_).MoveTo(std::move(program_));
  }

 private:
  // Whether stmts_[k] is not to be fused.
  bool IsAlone(size_t k) const {
    const For* loop = std::get_if<For>(&stmts_[k]);
    return loop != nullptr && options_.alone.contains(loop->iterator);
  }

  // Fuses rows from stmts_[k] on, if there are some, and moves on to the last
  // of them.
  bool AppendRows(size_t& k) {
    size_t end = stmts_.size();
    for (size_t j = k; !options_.alone.empty() && j < end; ++j) {
      if (IsAlone(j)) end = j;
    }
    if (end == k) return false;
    const auto left = absl::MakeConstSpan(stmts_).subspan(k, end - k);
    if (k >= rows_from_) rows_from_ = k + CountPlainRows(program_, left);
    if (k < rows_from_) return false;
    const std::optional<FusedRows> rows = FuseRows(
        program_, left, absl::MakeConstSpan(nests_).subspan(k), target_);
    if (!rows || !IsProvable(k, *rows)) return false;
    taken_.Add(Decision::kFusedRows);
    if (script_ != nullptr) absl::StrAppend(script_, rows->script);
    for (const Stmt& stmt : left.first(rows->count)) {
      if (std::holds_alternative<Comment>(stmt)) body_.Append(stmt, {});
    }
    body_.Append(rows->loop, *rows);
    k += rows->count - 1;
    return true;
  }

  // Whether Verify sees that every cell that `rows` read, of what they write,
  // is written before, and in the end all of them are: in the rows alone, or
  // with them in place of stmts_[k] and those behind it, as it may need a loop
  // as a whole. Of the other statements it looks at those that touch what the
  // rows write.
  bool IsProvable(size_t k, const FusedRows& rows) {
    if (VerifyAlone(program_, {{rows.loop}}).ok()) return true;
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
    return VerifyAmong(program_, block,
                       [&](BufferId buffer, Role role) {
                         return is_written(buffer) ? role : Role::kInOut;
                       })
        .ok();
  }

  const PerfectNest* Plannable(size_t k) const {
    const auto* nest = std::get_if<PerfectNest>(&nests_[k]);
    const bool plannable =
        nest != nullptr &&
        (nest->accumulates() || FindLaneLoop(program_, *nest) >= 0);
    return plannable ? nest : nullptr;
  }

  // ---- Consumers of a result -----------------------------------------------

  // stmts_[j] over the loops of `nest`, if it reads what `sets` write and may
  // be fused with them elementwise.
  std::optional<Set> FusibleConsumer(const ElementwiseGroup& sets,
                                     const PerfectNest& nest, size_t j) {
    if (IsAlone(j)) return std::nullopt;
    const bool reads = absl::c_any_of(
        effects_[j].reads, [&](BufferId b) { return sets.Writes(b); });
    if (!reads) return std::nullopt;
    std::optional<Set> user = Matched(program_, nest, nests_[j]);
    return user && sets.CanAppend(*user) ? user : std::nullopt;
  }

  // Whether stmts_[j] is a comment: distances, up to `last`, do not count them.
  bool SkipsComment(size_t j, size_t& last) const {
    return std::holds_alternative<Comment>(stmts_[j]) && ++last;
  }

  // Fuses the nest, stmts_[k], with those that use its result cell by cell and
  // can be brought to it, and returns what these do. They and their comments
  // leave those behind stmts_[k], which moves on to the last place in front of
  // those that stay.
  absl::StatusOr<std::vector<Set>> FuseConsumers(size_t& k,
                                                 const PerfectNest& nest,
                                                 NestRewriter& rewriter) {
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
        OCANNL_RETURN_IF_ERROR(
            rewriter.FuseWith(nest.outputs, std::move(stmts_[j]),
                              std::get<PerfectNest>(nests_[j]).outputs));
        if (j >= rows_from_) rows_from_ = 0;
        const size_t first = rewrite::FirstCommentOf(stmts_, j);
        for (size_t c = first; c < j; ++c) body_.Append(stmts_[c], {});
        // Those in between are few, those behind may be many.
        Rotate(k, first, j + 1);
        k += j + 1 - first;
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

  // Where the first consumer cannot be hoisted to stmts_[k], sinks stmts_[k]
  // and its comments to it (compute_at); k is what stands there instead.
  bool SinkToConsumer(size_t& k, const PerfectNest& nest) {
    if (!nest.accumulates() || IsAlone(k)) return false;
    ElementwiseGroup sets(program_);
    sets.Add(nest.set);
    bool is_blocked = false;
    size_t last = k + kMaxDistance;
    for (size_t j = k + 1; j < stmts_.size() && j <= last; ++j) {
      if (SkipsComment(j, last)) continue;
      if (FusibleConsumer(sets, nest, j)) {
        if (!is_blocked) return false;
        if (j >= rows_from_) rows_from_ = 0;
        if (script_ != nullptr) {
          absl::StrAppend(script_, "sink ", Name(nest.outputs[0].iterator),
                          "\n");
        }
        const size_t first = rewrite::FirstCommentOf(stmts_, k);
        Rotate(first, k + 1, rewrite::FirstCommentOf(stmts_, j));
        body_.DropComments(k - first);
        k = first;
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

  NestRewriter RewriterOf(size_t k) {
    return NestRewriter(program_, std::move(stmts_[k]), options_.legality,
                        script_);
  }

  void Append(NestRewriter&& rewriter, FusedNest nest) {
    Block block;
    std::move(rewriter).MoveTo(block);
    body_.Append(std::move(block.stmts[0]), std::move(nest));
  }

  absl::Status Map(size_t& k, const PerfectNest& nest) {
    const bool is_alone = IsAlone(k);
    NestRewriter rewriter = RewriterOf(k);
    std::vector<Set> consumers;
    if (!is_alone) {
      OCANNL_ASSIGN_OR_RETURN(consumers, FuseConsumers(k, nest, rewriter));
    }
    Append(std::move(rewriter), MapNest{nest, std::move(consumers)});
    return absl::OkStatus();
  }

  absl::Status Accumulate(size_t& k, PerfectNest nest) {
    ContractPlan plan = PlanContract(program_, nest, target_);
    const bool is_alone = IsAlone(k);
    NestRewriter rewriter = RewriterOf(k);
    const bool has_n = plan.loops.n.iterator.valid();
    if (!has_n) {
      OCANNL_ASSIGN_OR_RETURN(plan.loops.n, rewriter.Enclose(nest.reduced[0]));
      nest.outputs.push_back(plan.loops.n);
    }
    Epilogue epilogue;
    // Between blocks of k the accumulators are in the target.
    if (!plan.has_k_blocks()) {
      const BufferId buffer = nest.set.target.buffer;
      epilogue.beta_is_zero =
          !is_alone &&
          rewrite::CoversBuffer(program_, nest.set.target, nest.outputs) &&
          body_.TakeZeroOut(buffer);
      if (epilogue.beta_is_zero) {
        OCANNL_RETURN_IF_ERROR(
            rewriter.AbsorbZeroOut(buffer, nest.outputs.back()));
      }
      if (has_n) {
        OCANNL_ASSIGN_OR_RETURN(epilogue.sets,
                                FuseConsumers(k, nest, rewriter));
      }
    }
    Append(std::move(rewriter),
           Contraction{std::move(nest), std::move(plan), std::move(epilogue)});
    return absl::OkStatus();
  }

  LoopProgram program_;
  const Target& target_;
  const FuseOptions& options_;
  Decisions& taken_;
  std::string* const script_;
  // program_.body stays as it was until the end.
  std::vector<Stmt> stmts_;       // those behind the current one may still move
  std::vector<Effects> effects_;  // of each of them
  std::vector<CanonicalNest> nests_;
  size_t rows_from_ = 0;  // FuseRows finds nothing before it
  FusedBody body_;
};

}  // namespace

absl::StatusOr<FusedProgram> FuseNests(LoopProgram program,
                                       std::vector<CanonicalNest> nests,
                                       const Target& target,
                                       const FuseOptions& options) {
  return NestFuser(std::move(program), std::move(nests), target, options).Run();
}

}  // namespace ocannl
