// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/schedule.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/common_subexpressions.h"
#include "ocannl/core/opt/dead_code.h"
#include "ocannl/core/schedule/collapse.h"
#include "ocannl/core/schedule/contract.h"
#include "ocannl/core/schedule/decisions.h"
#include "ocannl/core/schedule/map.h"
#include "ocannl/core/schedule/nest_rewriter.h"
#include "ocannl/core/schedule/plan.h"
#include "ocannl/core/schedule/row_blocks.h"
#include "ocannl/core/schedule/rows.h"
#include "ocannl/core/schedule/writer.h"

namespace ocannl {
namespace {

// Statements ahead where a nest looks for consumers (bench --filter=compile/).
constexpr size_t kMaxDistance = 64;

constexpr BufferId kElided = {};  // the buffer of an elided zero_out

class Scheduler {
 public:
  Scheduler(LoopProgram program, const Target& target, Decisions& taken)
      : program_(std::move(program)),
        target_(target),
        taken_(taken),
        writer_(&program_),
        stmts_(program_.body.stmts),
        readers_(program_.buffers.size()) {
    program_.next_iterator = NextIterator(program_);
    for (const Stmt& stmt : stmts_) {
      effects_.push_back(EffectsOf(program_, stmt));
      for (BufferId buffer : effects_.back().reads) ++readers_[buffer];
    }
  }

  LoopProgram Run() && {
    // How often a statement was sunk from here: two producers of one consumer
    // would be sunk past each other for ever.
    size_t sunk = 0;
    for (size_t k = 0; k < stmts_.size(); ++k) {
      const auto left = absl::MakeConstSpan(stmts_).subspan(k);
      if (k >= rows_from_) rows_from_ = k + CountPlainRows(program_, left);
      std::optional<FusedRows> rows;
      if (k >= rows_from_) rows = FuseRows(writer_, left, target_);
      if (rows && IsProvable(k, *rows)) {
        taken_.Add(Decision::kFusedRows);
        AppendRows(std::move(rows->loop));
        for (size_t j = k; j < k + rows->count; ++j) MarkScheduled(j);
        k += rows->count - 1;
        continue;
      }
      const Stmt stmt = stmts_[k];
      std::optional<PerfectNest> nest = Plannable(stmt);
      const auto scatter = AsScatterNest(program_, stmt);
      if (scatter) {
        taken_.Add(Decision::kScatter);
        MarkScheduled(k);
        ScheduleScatter(writer_, *scatter, target_, result_);
        continue;
      }
      if (!nest) {
        RecordKept(stmt);
        MarkScheduled(k);
        result_.stmts.push_back(stmt);
        continue;
      }
      if (sunk < kMaxDistance && SinkToConsumer(k, *nest)) {
        taken_.Add(Decision::kSunkToConsumer);
        ++sunk;
        --k;
        continue;
      }
      sunk = 0;
      MarkScheduled(k);
      if (nest->accumulates()) {
        Accumulate(k, *nest);
      } else {
        Map(*nest, FuseConsumers(k, *nest));
      }
    }
    EraseElided(result_);
    program_.body = std::move(result_);
    return std::move(program_);
  }

 private:
  // Whether Verify sees that every cell that `rows` read, of what they write,
  // is written before, and in the end all of them are. It looks at the program
  // with nothing but them in it.
  bool IsProvableAlone(const Block& rows) {
    std::set<BufferId> written;
    WalkStmts(rows, [&](const Stmt& stmt) {
      written.insert(WrittenBy(program_, stmt));
    });
    IdVector<BufferId, Buffer>& buffers = program_.buffers;
    IdVector<BufferId, Role> roles;
    for (BufferId k : buffers.ids()) {
      Role& role = buffers[k].role;
      roles.push_back(role);
      if (role == Role::kInOut || role == Role::kPrivate) continue;
      role = written.contains(k) ? Role::kOut : Role::kIn;
    }
    Block whole = std::exchange(program_.body, rows);
    const bool is_provable = Verify(program_).ok();
    program_.body = std::move(whole);
    for (BufferId k : roles.ids()) buffers[k].role = roles[k];
    return is_provable;
  }

  // Whether it sees that with `rows` in place of stmts_[k] and those behind it:
  // it may need a loop as a whole.
  bool IsProvable(size_t k, const FusedRows& rows) {
    if (IsProvableAlone({{rows.loop}})) return true;
    LoopProgram fused = program_;
    fused.body = result_;
    EraseElided(fused.body);
    fused.body.stmts.push_back(rows.loop);
    fused.body.stmts.insert(
        fused.body.stmts.end(),
        stmts_.begin() + static_cast<int64_t>(k + rows.count), stmts_.end());
    return Verify(fused).ok();
  }

  void AppendRows(For rows) {
    std::string plan = absl::StrCat("fused rows ", rows.extent);
    Block stmts = {{rows}};
    std::optional<RowBlocks> blocks =
        TransposeReduceRows(writer_, rows, target_);
    if (blocks && IsProvableAlone(blocks->stmts)) {
      taken_.Add(Decision::kRowBlocks);
      absl::StrAppend(&plan, ": blocks of ", blocks->size);
      stmts = std::move(blocks->stmts);
    }
    result_.stmts.push_back(Comment{plan});
    absl::c_move(stmts.stmts, std::back_inserter(result_.stmts));
  }

  // AsPerfectNest with only the loops that repeat.
  std::optional<PerfectNest> NestOf(const Stmt& stmt) {
    std::optional<PerfectNest> nest = AsPerfectNest(program_, stmt);
    if (!nest) return std::nullopt;
    return WithoutUnitLoops(writer_, *std::move(nest));
  }

  std::optional<PerfectNest> Plannable(const Stmt& stmt) {
    std::optional<PerfectNest> nest = NestOf(stmt);
    if (!nest) return std::nullopt;
    const Buffer& buffer = program_.buffers[nest->set.target.buffer];
    bool plannable = nest->accumulates() ? SizeOf(buffer.dtype) >= 4
                                         : FindLaneLoop(program_, *nest) >= 0;
    return plannable ? nest : std::nullopt;
  }

  // ---- Consumers of a result -----------------------------------------------

  // `user` over the loops of `nest`, if its loops have the same extents.
  std::optional<Set> Matched(const PerfectNest& nest, const Stmt& user) {
    std::optional<PerfectNest> other = NestOf(user);
    if (!other || other->accumulates()) return std::nullopt;
    if (nest.outputs.size() != other->outputs.size()) return std::nullopt;
    IteratorMap places;
    for (size_t k = 0; k < nest.outputs.size(); ++k) {
      if (nest.outputs[k].extent != other->outputs[k].extent) {
        return std::nullopt;
      }
      places[other->outputs[k].iterator] = Iterator(nest.outputs[k].iterator);
    }
    return Set{.target = writer_.Remapped(other->set.target, places),
               .value = writer_.Remapped(other->set.value, places, {})};
  }

  // stmts_[j] over the loops of `nest`, if it reads what `sets` write and may
  // be fused with them elementwise.
  std::optional<Set> FusibleConsumer(const ElementwiseGroup& sets,
                                     const PerfectNest& nest, size_t j) {
    const bool reads = absl::c_any_of(
        effects_[j].reads, [&](BufferId b) { return sets.Writes(b); });
    if (!reads) return std::nullopt;
    std::optional<Set> user = Matched(nest, stmts_[j]);
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
        MarkScheduled(j);
        // Those in between are few, those behind may be many.
        MoveBack(k, j, stmts_);
        MoveBack(k, j, effects_);
        ++k;
        ++last;
      } else {
        between.push_back(effects_[j]);
      }
    }
    return consumers;
  }

  // Moves the element `from` before the one at `to`.
  template <class T>
  static void MoveBack(size_t to, size_t from, std::vector<T>& elements) {
    std::rotate(&elements[to], &elements[from], &elements[from] + 1);
  }

  // Moves the element `from` behind those up to the one before `to`.
  template <class T>
  static void MoveTo(size_t to, size_t from, std::vector<T>& elements) {
    std::rotate(&elements[from], &elements[from] + 1, elements.data() + to);
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
        MoveTo(j, k, stmts_);
        MoveTo(j, k, effects_);
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

  // Elides the zero_out that only this nest would read.
  bool ElideZeroInit(BufferId buffer) {
    for (; seen_ < result_.stmts.size(); ++seen_) {
      const Effects effects = EffectsOf(program_, result_.stmts[seen_]);
      for (BufferId read : effects.reads) uses_[read].push_back(seen_);
      for (BufferId written : effects.writes) uses_[written].push_back(seen_);
    }
    std::vector<size_t>& uses = uses_[buffer];
    if (uses.empty()) return false;
    ZeroOut* zero = std::get_if<ZeroOut>(&result_.stmts[uses.back()]);
    if (zero == nullptr) return false;
    zero->buffer = kElided;
    uses.pop_back();
    return true;
  }

  // Erases what ElideZeroInit marked.
  static void EraseElided(Block& block) {
    std::erase_if(block.stmts, [](const Stmt& stmt) {
      const ZeroOut* zero = std::get_if<ZeroOut>(&stmt);
      return zero != nullptr && zero->buffer == kElided;
    });
  }

  // stmts_[j] is scheduled.
  void MarkScheduled(size_t j) {
    for (BufferId buffer : effects_[j].reads) --readers_[buffer];
  }

  void Map(const PerfectNest& nest, const std::vector<Set>& consumers) {
    const size_t before = result_.stmts.size();
    std::vector<Stmt> sets = {nest.set};
    absl::c_copy(consumers, std::back_inserter(sets));
    NestRewriter rewriter(program_, Around(nest.outputs, std::move(sets)));
    taken_.Add(Decision::kMap);
    taken_.AddIf(ScheduleMap(rewriter, nest, consumers, target_),
                 Decision::kTransposedMap);
    std::move(rewriter).MoveTo(result_);
    taken_.AddIf(!consumers.empty(), Decision::kMapWithEpilogues);
    taken_.AddIf(IsParallelFrom(before), Decision::kParallelMap);
  }

  void Accumulate(size_t& k, const PerfectNest& nest) {
    const size_t before = result_.stmts.size();
    const ContractPlan plan = PlanContract(program_, nest, target_);
    Epilogue epilogue;
    // Between blocks of k the accumulators are in the target.
    if (!plan.has_k_blocks()) {
      const BufferId buffer = nest.set.target.buffer;
      epilogue.sets = FuseConsumers(k, nest);
      epilogue.beta_is_zero = CoversTarget(nest) && ElideZeroInit(buffer);
      epilogue.result_is_dead = epilogue.beta_is_zero &&
                                program_.buffers[buffer].role == Role::kTemp &&
                                readers_[buffer] == 0;
    }
    result_.stmts.push_back(Comment{Describe(program_, nest, plan)});
    WriteContract(writer_, nest, plan, epilogue, result_);
    RecordPlan(plan);
    RecordEpilogue(nest, epilogue);
    taken_.AddIf(IsParallelFrom(before), Decision::kParallelContract);
  }

  // ---- Records for tests ---------------------------------------------------

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

  void RecordPlan(const ContractPlan& plan) {
    taken_.Add(Decision::kContract);
    taken_.AddIf(plan.n.extent == 1, Decision::kOneLane);
    taken_.AddIf(plan.m.has_value(), Decision::kTiledM);
    taken_.AddIf(!plan.outer.empty(), Decision::kOuterLoops);
    taken_.AddIf(plan.m_tiles.size() > 1, Decision::kUnequalTilesOfM);
    taken_.AddIf(plan.n_tiles.size() > 1, Decision::kRemainderOfN);
    taken_.AddIf(plan.panels_per_block > 1, Decision::kPanelBlocks);
    taken_.AddIf(plan.has_k_blocks(), Decision::kKBlocks);
    taken_.AddIf(plan.packed_b.has_value(), plan.b_needs_transpose
                                                ? Decision::kTransposedB
                                                : Decision::kPackedB);
    taken_.AddIf(plan.packed_a.has_value(), Decision::kPackedA);
  }

  void RecordEpilogue(const PerfectNest& nest, const Epilogue& epilogue) {
    taken_.AddIf(!epilogue.sets.empty(), Decision::kFusedEpilogues);
    taken_.AddIf(absl::c_any_of(epilogue.sets,
                                [&](const Set& user) {
                                  return user.target == nest.set.target;
                                }),
                 Decision::kInPlaceEpilogue);
    taken_.AddIf(epilogue.beta_is_zero, Decision::kElidedZeroOut);
    taken_.AddIf(epilogue.result_is_dead, Decision::kDeadResult);
  }

  // Whether one of the statements of the result from `first` on is parallel.
  bool IsParallelFrom(size_t first) const {
    return std::any_of(result_.stmts.begin() + static_cast<int64_t>(first),
                       result_.stmts.end(), [](const Stmt& stmt) {
                         const For* loop = std::get_if<For>(&stmt);
                         return loop != nullptr && loop->kind == LoopKind::kPar;
                       });
  }

  LoopProgram program_;
  const Target& target_;
  Decisions& taken_;
  NestWriter writer_;
  // program_.body stays as it was until the end.
  std::vector<Stmt> stmts_;       // those behind the current one may still move
  std::vector<Effects> effects_;  // of each of them
  IdVector<BufferId, int> readers_;  // that are left
  size_t rows_from_ = 0;             // FuseRows finds nothing before it
  Block result_;
  size_t seen_ = 0;  // statements of result_ that are in uses_
  absl::flat_hash_map<BufferId, std::vector<size_t>> uses_;
};

}  // namespace

LoopProgram Schedule(LoopProgram program, const Target& target) {
  Decisions ignored;
  return Schedule(std::move(program), target, ignored);
}

LoopProgram Schedule(LoopProgram program, const Target& target,
                     Decisions& taken) {
  const bool has_locals = !program.locals.empty();
  if (has_locals) program = InlineLocals(std::move(program));
  program = CollapseLoops(std::move(program), taken);
  // A result that is kept in accumulators alone leaves its temp unused.
  program =
      EliminateDeadCode(Scheduler(std::move(program), target, taken).Run());
  if (has_locals) program = EliminateCommonSubexpressions(std::move(program));
  absl::Status status = Verify(program);
  CHECK(status.ok()) << "after scheduling: " << status.message();
  return program;
}

}  // namespace ocannl
