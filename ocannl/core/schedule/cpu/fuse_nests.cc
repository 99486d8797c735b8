// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/fuse_nests.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/cpu/block_sum.h"
#include "ocannl/core/schedule/cpu/fused_body.h"
#include "ocannl/core/schedule/cpu/nest_rewriter.h"
#include "ocannl/core/schedule/cpu/rows.h"
#include "ocannl/core/schedule/cpu/tiling/plan.h"
#include "ocannl/core/schedule/cpu/verify_part.h"
#include "ocannl/core/schedule/nests/elementwise_group.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl {
namespace {

// Statements ahead where a nest looks for consumers (bench --filter=compile/).
constexpr size_t kMaxDistance = 64;

// `other` over the loops of `nest`, if its loops have the same extents, or each
// those of a few adjacent ones, as the tiles of an axis.
std::optional<Set> Matched(LoopProgram& program, const PerfectNest& nest,
                           const CanonicalNest& other) {
  const auto* map = std::get_if<PerfectNest>(&other);
  if (map == nullptr || map->accumulates()) return std::nullopt;
  rewrite::IteratorMap places;
  size_t k = 0;
  for (const NestLoop& loop : map->outputs) {
    int64_t inside = loop.extent;
    Affine place;
    do {
      if (k == nest.outputs.size()) return std::nullopt;
      const NestLoop& part = nest.outputs[k++];
      if (inside % part.extent != 0) return std::nullopt;
      inside /= part.extent;
      place += inside * Affine(Iterator(part.iterator));
    } while (inside > 1);
    places[loop.iterator] = place;
  }
  if (k < nest.outputs.size()) return std::nullopt;
  Stmt stmt = map->set;
  rewrite::Substitute(program, stmt, places);
  return std::get<Set>(stmt);
}

// Whether the `user` of the nest, an assignment, has the same lanes: one that
// transposes does so in registers, in a nest of its own.
bool HasSameLanes(const LoopProgram& program, const PerfectNest& nest,
                  const Set& user) {
  const int lanes = FindLaneLoop(program, {nest.outputs, {}, user});
  return nest.accumulates() || lanes < 0 ||
         lanes == FindLaneLoop(program, nest);
}

// Whether no dependence keeps waiting[at] behind those before it, of which
// zero_outs may be passed over.
bool CanHoist(const WaitingNests& waiting, size_t at, bool passes_zero_outs) {
  const auto other = waiting.begin() + static_cast<int64_t>(at);
  return std::none_of(waiting.begin(), other, [&](const WaitingNest& passed) {
    return !(passes_zero_outs &&
             std::holds_alternative<ZeroOut>(passed.stmt)) &&
           Conflict(passed.effects, other->effects);
  });
}

class NestFuser {
 public:
  NestFuser(LoopProgram program, const Target& target,
            const FuseOptions& options)
      : program_(std::move(program)),
        target_(target),
        options_(options),
        script_(options.script),
        body_(program_) {}

  absl::StatusOr<FusedProgram> Run(std::vector<CanonicalNest> nests) && {
    std::vector<Stmt> comments;
    for (size_t k = 0; k < nests.size(); ++k) {
      const Stmt& stmt = program_.body.stmts[k];
      if (std::holds_alternative<Comment>(stmt)) {
        comments.push_back(stmt);
        continue;
      }
      const For* loop = std::get_if<For>(&stmt);
      waiting_.push_back({.comments = std::exchange(comments, {}),
                          .stmt = stmt,
                          .nest = std::move(nests[k]),
                          .effects = EffectsOf(program_, stmt),
                          .is_alone = loop != nullptr &&
                                      options_.alone.contains(loop->iterator)});
    }
    while (!waiting_.empty()) {
      if (!AppendRows()) OCANNL_RETURN_IF_ERROR(AppendFirst());
    }
    AppendComments(comments);
    return std::move(body_).MoveTo(std::move(program_));
  }

 private:
  void AppendComments(const std::vector<Stmt>& comments) {
    for (const Stmt& comment : comments) body_.Append(comment, nullptr);
  }

  // ---- Rows ----------------------------------------------------------------

  // Fuses rows from the first statement on, if there are some.
  bool AppendRows() {
    if (plain_ == 0) plain_ = CountPlainRows(program_, waiting_);
    if (plain_ > 0) {
      --plain_;  // AppendFirst takes it
      return false;
    }
    const std::optional<FusedRows> rows = FuseRows(program_, waiting_, target_);
    if (!rows || !IsProvable(*rows)) return false;
    if (script_ != nullptr) {
      absl::c_copy(rows->script, std::back_inserter(*script_));
    }
    for (size_t k = 0; k < rows->count; ++k) {
      AppendComments(waiting_.front().comments);
      waiting_.pop_front();
    }
    body_.Append(rows->loop, std::make_shared<const FusedNest>(*rows));
    return true;
  }

  // Whether Verify sees that every cell that `rows` read, of what they write,
  // is written before, and in the end all of them are: in the rows alone, or
  // with them in place of the first statements, as it may need a loop as a
  // whole. Of the other statements it looks at those that touch what the rows
  // write.
  bool IsProvable(const FusedRows& rows) {
    if (VerifyAlone(program_, {{rows.loop}}).ok()) return true;
    const std::vector<BufferId> written = EffectsOf(program_, rows.loop).writes;
    Block block{body_.Naming(written)};
    block.stmts.push_back(rows.loop);
    auto is_written = [&](BufferId buffer) {
      return absl::c_linear_search(written, buffer);
    };
    for (size_t k = rows.count; k < waiting_.size(); ++k) {
      if (absl::c_any_of(waiting_[k].effects.buffers(), is_written)) {
        block.stmts.push_back(waiting_[k].stmt);
      }
    }
    return VerifyAmong(program_, block,
                       [&](BufferId buffer, Role role) {
                         return is_written(buffer) ? role : Role::kInOut;
                       })
        .ok();
  }

  // ---- Consumers of a result -----------------------------------------------

  // The statement over the loops of `nest`, if it reads what `sets` write and
  // may be fused with them elementwise.
  std::optional<Set> FusibleConsumer(const ElementwiseGroup& sets,
                                     const PerfectNest& nest,
                                     const WaitingNest& other) {
    if (other.is_alone) return std::nullopt;
    const bool reads = absl::c_any_of(
        other.effects.reads, [&](BufferId b) { return sets.Writes(b); });
    if (!reads) return std::nullopt;
    std::optional<Set> user = Matched(program_, nest, other.nest);
    return user && sets.CanAppend(*user) && HasSameLanes(program_, nest, *user)
               ? user
               : std::nullopt;
  }

  // Fuses the nest, which is `first`, with those that use its result cell by
  // cell and can be hoisted to it, and returns what these do. `init` is what
  // each cell starts with, if the nest has absorbed that.
  absl::StatusOr<std::vector<Set>> FuseConsumers(
      const WaitingNest& first, const PerfectNest& nest, NestRewriter& rewriter,
      std::optional<ExprId> init = std::nullopt) {
    std::vector<Set> consumers;
    if (first.is_alone) return consumers;
    ElementwiseGroup sets(program_);
    if (init) sets.Add({nest.set.target, *init});
    sets.Add(nest.set);
    for (size_t k = 0; k < std::min(waiting_.size(), kMaxDistance);) {
      WaitingNest& other = waiting_[k];
      std::optional<Set> user = FusibleConsumer(sets, nest, other);
      if (!user || !CanHoist(waiting_, k, /*passes_zero_outs=*/false)) {
        ++k;
        continue;
      }
      sets.Add(*user);
      consumers.push_back(*std::move(user));
      OCANNL_RETURN_IF_ERROR(
          rewriter.FuseWith(nest.outputs, std::move(other.stmt),
                            std::get<PerfectNest>(other.nest).outputs));
      AppendComments(other.comments);
      waiting_.erase(waiting_.begin() + static_cast<int64_t>(k));
      plain_ = k < plain_ ? plain_ - 1 : 0;
    }
    return consumers;
  }

  // Moves `first` to waiting_[at], the first statement that needs it.
  absl::Status Sink(WaitingNest& first, const PerfectNest& nest, size_t at) {
    NestRewriter rewriter = RewriterOf(first);
    for (size_t k = 0; k <= at; ++k) {
      rewriter.rewriter().Append(std::move(waiting_[k].stmt));
    }
    OCANNL_RETURN_IF_ERROR(rewriter.rewriter().Sink(nest.outputs[0].iterator));
    Block block;
    std::move(rewriter).MoveTo(block);
    waiting_.insert(waiting_.begin() + static_cast<int64_t>(at),
                    std::move(first));
    plain_ = at < plain_ ? plain_ + 1 : 0;
    for (size_t k = 0; k < block.stmts.size(); ++k) {
      waiting_[k].stmt = std::move(block.stmts[k]);
    }
    return absl::OkStatus();
  }

  // Where the first consumer cannot be hoisted to the nest, which is `first`,
  // sinks that to it (compute_at).
  absl::StatusOr<bool> SinkToConsumer(WaitingNest& first,
                                      const PerfectNest& nest) {
    if (first.is_alone) return false;
    ElementwiseGroup sets(program_);
    sets.Add(nest.set);
    for (size_t k = 0; k < std::min(waiting_.size(), kMaxDistance); ++k) {
      if (FusibleConsumer(sets, nest, waiting_[k])) {
        if (CanHoist(waiting_, k, /*passes_zero_outs=*/false)) return false;
        // An assignment sinks below zero_outs alone.
        if (!nest.accumulates() &&
            !CanHoist(waiting_, k, /*passes_zero_outs=*/true)) {
          return false;
        }
        OCANNL_RETURN_IF_ERROR(Sink(first, nest, k));
        return true;
      }
      if (Conflict(first.effects, waiting_[k].effects)) return false;
    }
    return false;
  }

  // ---- Writing -------------------------------------------------------------

  // Appends the first statement with its consumers, or lets it wait for them.
  absl::Status AppendFirst() {
    WaitingNest first = std::move(waiting_.front());
    waiting_.pop_front();
    const auto* nest = std::get_if<PerfectNest>(&first.nest);
    const bool is_map = nest != nullptr && !nest->accumulates();
    if (is_map && FindLaneLoop(program_, *nest) < 0) nest = nullptr;
    if (nest != nullptr) {
      bool sinks = false;
      if (sunk_ < kMaxDistance) {
        OCANNL_ASSIGN_OR_RETURN(sinks, SinkToConsumer(first, *nest));
      }
      if (sinks) {
        ++sunk_;
        return absl::OkStatus();
      }
      sunk_ = 0;
    }
    AppendComments(first.comments);
    if (nest != nullptr) {
      return is_map ? Map(first, *nest) : Accumulate(first, *nest);
    }
    const auto* scatter = std::get_if<ScatterNest>(&first.nest);
    body_.Append(
        std::move(first.stmt),
        scatter ? std::make_shared<const FusedNest>(*scatter) : nullptr);
    return absl::OkStatus();
  }

  NestRewriter RewriterOf(WaitingNest& first) {
    return NestRewriter(program_, std::move(first.stmt), options_.legality,
                        script_);
  }

  void Append(NestRewriter&& rewriter, FusedNest nest) {
    Block block;
    std::move(rewriter).MoveTo(block);
    body_.Append(std::move(block.stmts[0]),
                 std::make_shared<const FusedNest>(std::move(nest)));
  }

  absl::Status Map(WaitingNest& first, const PerfectNest& nest) {
    NestRewriter rewriter = RewriterOf(first);
    OCANNL_ASSIGN_OR_RETURN(std::vector<Set> consumers,
                            FuseConsumers(first, nest, rewriter));
    Append(std::move(rewriter), MapNest{nest, std::move(consumers)});
    return absl::OkStatus();
  }

  // Fuses the nest of partial sums, which is `first`, with the next one, which
  // adds them up.
  absl::StatusOr<bool> AccumulateBlocks(WaitingNest& first,
                                        const PerfectNest& nest) {
    if (first.is_alone || waiting_.empty() || waiting_.front().is_alone) {
      return false;
    }
    auto sum = PlanBlockSum(program_, nest, waiting_.front().nest, target_);
    if (!sum) return false;
    // Between blocks the sum is stored: they cannot start with cells of it.
    const Access& cell = nest.set.target;
    auto init = body_.TakeInit(cell, waiting_.front().effects.writes);
    if (!init) return false;
    NestRewriter of_sum = RewriterOf(waiting_.front());
    OCANNL_RETURN_IF_ERROR(of_sum.Reorder(sum->loops));
    Block block;
    std::move(of_sum).MoveTo(block);
    NestRewriter rewriter = RewriterOf(first);
    OCANNL_RETURN_IF_ERROR(rewriter.AbsorbZeroOut(
        cell.buffer, std::move(init->stmt), nest.outputs.back()));
    OCANNL_RETURN_IF_ERROR(
        rewriter.FuseWith(nest.outputs, std::move(block.stmts[0]), sum->loops));
    AppendComments(waiting_.front().comments);
    waiting_.pop_front();
    plain_ = plain_ > 0 ? plain_ - 1 : 0;
    Append(std::move(rewriter), std::move(sum->contraction));
    return true;
  }

  absl::Status Accumulate(WaitingNest& first, PerfectNest nest) {
    OCANNL_ASSIGN_OR_RETURN(const bool is_done, AccumulateBlocks(first, nest));
    if (is_done) return absl::OkStatus();
    ContractPlan plan = PlanContract(program_, nest, target_);
    NestRewriter rewriter = RewriterOf(first);
    const bool has_n = plan.loops.n.iterator.valid();
    if (!has_n) {
      OCANNL_ASSIGN_OR_RETURN(plan.loops.n, rewriter.Enclose(nest.reduced[0]));
      nest.outputs.push_back(plan.loops.n);
    }
    Epilogue epilogue;
    // Between blocks of k the accumulators are in the target.
    if (!plan.has_k_blocks()) {
      const BufferId buffer = nest.set.target.buffer;
      std::optional<FusedBody::Init> init;
      if (!first.is_alone &&
          rewrite::CoversBuffer(program_, nest.set.target, nest.outputs)) {
        init = body_.TakeInit(nest.set.target);
      }
      if (init) {
        epilogue.beta_is_zero = true;
        OCANNL_RETURN_IF_ERROR(rewriter.AbsorbZeroOut(
            buffer, std::move(init->stmt), nest.outputs.back()));
      }
      if (has_n) {
        OCANNL_ASSIGN_OR_RETURN(
            epilogue.sets,
            FuseConsumers(first, nest, rewriter,
                          init ? std::optional(init->value) : std::nullopt));
      }
    }
    Append(std::move(rewriter),
           Contraction{std::move(nest), std::move(plan), std::move(epilogue)});
    return absl::OkStatus();
  }

  LoopProgram program_;  // its body stays as it was until the end
  const Target& target_;
  const FuseOptions& options_;
  rewrite::Script* const script_;
  WaitingNests waiting_;
  size_t plain_ = 0;  // so many of them start no rows, first ones; 0: unknown
  // How often a statement was sunk since the last one that was not: two
  // producers of one consumer would be sunk past each other for ever.
  size_t sunk_ = 0;
  FusedBody body_;
};

}  // namespace

absl::StatusOr<FusedProgram> FuseNests(LoopProgram program,
                                       std::vector<CanonicalNest> nests,
                                       const Target& target,
                                       const FuseOptions& options) {
  return NestFuser(std::move(program), target, options).Run(std::move(nests));
}

}  // namespace ocannl
