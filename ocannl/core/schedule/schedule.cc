// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/schedule.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/common_subexpressions.h"
#include "ocannl/core/opt/dead_code.h"
#include "ocannl/core/schedule/canonicalize.h"
#include "ocannl/core/schedule/collapse.h"
#include "ocannl/core/schedule/contract.h"
#include "ocannl/core/schedule/fuse_nests.h"
#include "ocannl/core/schedule/map.h"
#include "ocannl/core/schedule/nest_rewriter.h"
#include "ocannl/core/schedule/rows.h"
#include "ocannl/core/schedule/verify_part.h"

namespace ocannl {
namespace {

void RecordContraction(const Contraction& contraction, Decisions& taken) {
  const ContractPlan& plan = contraction.plan;
  const std::vector<Set>& epilogue = contraction.epilogue.sets;
  taken.Add(Decision::kContract);
  taken.AddIf(plan.loops.n.extent == 1, Decision::kOneLane);
  taken.AddIf(plan.loops.m.has_value(), Decision::kTiledM);
  taken.AddIf(!plan.loops.outer.empty(), Decision::kOuterLoops);
  taken.AddIf(plan.tiles.m.size() > 1, Decision::kUnequalTilesOfM);
  taken.AddIf(plan.tiles.n.size() > 1, Decision::kRemainderOfN);
  taken.AddIf(plan.blocks.panels > 1, Decision::kPanelBlocks);
  taken.AddIf(plan.has_k_blocks(), Decision::kKBlocks);
  taken.AddIf(plan.packed_b.has_value(), plan.b_needs_transpose
                                             ? Decision::kTransposedB
                                             : Decision::kPackedB);
  taken.AddIf(plan.packed_a.has_value(), Decision::kPackedA);
  taken.AddIf(!epilogue.empty(), Decision::kFusedEpilogues);
  taken.AddIf(absl::c_any_of(epilogue,
                             [&](const Set& user) {
                               return user.target ==
                                      contraction.nest.set.target;
                             }),
              Decision::kInPlaceEpilogue);
  taken.AddIf(contraction.epilogue.beta_is_zero, Decision::kAbsorbedZeroOut);
}

bool IsParallel(const Stmt& stmt) {
  const For* loop = std::get_if<For>(&stmt);
  return loop != nullptr && loop->kind == LoopKind::kPar;
}

// Rewrites the nests of a program, one after the other.
class NestScheduler {
 public:
  NestScheduler(LoopProgram& program, const Target& target,
                rewrite::Legality legality, Decisions& taken,
                std::string* script)
      : program_(program),
        target_(target),
        taken_(taken),
        legality_(legality),
        script_(script) {}

  void Run(const std::vector<FusedNest>& nests) {
    std::vector<Stmt> stmts = std::move(program_.body.stmts);
    program_.body.stmts.clear();
    // New loops are numbered as in a script that is run on all of the program.
    std::vector<IteratorId> behind = {NextIterator(program_)};
    for (size_t k = stmts.size(); k-- > 0;) {
      behind.push_back(std::max(behind.back(), NextIterator(stmts[k])));
    }
    IteratorId before = behind[0];
    Block result;
    for (size_t k = 0; k < stmts.size(); ++k) {
      behind.pop_back();
      const size_t first = result.stmts.size();
      if (std::holds_alternative<std::monostate>(nests[k])) {
        result.stmts.push_back(std::move(stmts[k]));
      } else {
        program_.next_iterator = std::max(before, behind.back());
        NestRewriter rewriter(program_, std::move(stmts[k]), legality_,
                              script_);
        const std::optional<Decision> if_parallel = Rewrite(rewriter, nests[k]);
        std::move(rewriter).MoveTo(result);
        const auto made = absl::MakeConstSpan(result.stmts).subspan(first);
        if (if_parallel) {
          taken_.AddIf(absl::c_any_of(made, IsParallel), *if_parallel);
        }
      }
      for (size_t j = first; j < result.stmts.size(); ++j) {
        before = std::max(before, NextIterator(result.stmts[j]));
      }
    }
    program_.body = std::move(result);
  }

 private:
  // Returns what is decided where a statement that it makes is parallel.
  std::optional<Decision> Rewrite(NestRewriter& rewriter,
                                  const FusedNest& nest) {
    using IfParallel = std::optional<Decision>;
    return std::visit(
        Overload{
            [&](const MapNest& map) -> IfParallel {
              taken_.Add(Decision::kMap);
              taken_.AddIf(!map.consumers.empty(), Decision::kMapWithEpilogues);
              taken_.AddIf(
                  ScheduleMap(rewriter, map.nest, map.consumers, target_),
                  Decision::kTransposedMap);
              return Decision::kParallelMap;
            },
            [&](const Contraction& contraction) -> IfParallel {
              RecordContraction(contraction, taken_);
              ScheduleContract(rewriter, contraction);
              return Decision::kParallelContract;
            },
            [&](const ScatterNest& scatter) -> IfParallel {
              taken_.Add(Decision::kScatter);
              ScheduleScatter(rewriter, scatter, target_);
              return std::nullopt;
            },
            [&](const FusedRows& rows) -> IfParallel {
              taken_.AddIf(ScheduleRows(rewriter, rows, target_),
                           Decision::kRowBlocks);
              return std::nullopt;
            },
            [](std::monostate) -> IfParallel { return std::nullopt; },
        },
        nest);
  }

  LoopProgram& program_;
  const Target& target_;
  Decisions& taken_;
  const rewrite::Legality legality_;
  std::string* const script_;
};

// What the passes work on.
struct State {
  LoopProgram program;
  const Target& target;
  const ScheduleOptions& options;
  Decisions& taken;
  bool had_locals;
  // Of each statement, where those passes have run.
  std::vector<CanonicalNest> canonical = {};
  std::vector<FusedNest> fused = {};
};

void Inline(State& state) {
  if (!state.had_locals) return;
  state.program = InlineLocals(std::move(state.program));
}

void Canonicalize(State& state) {
  state.program.next_iterator = {0};
  state.canonical = CanonicalizeNests(state.program);
}

void Collapse(State& state) {
  if (!CollapseLoops(state.program, state.options.script)) return;
  state.taken.Add(Decision::kCollapsedLoops);
  if (!state.canonical.empty()) {
    state.canonical = CanonicalNestsOf(state.program);
  }
}

void Fuse(State& state) {
  if (state.canonical.empty()) return;
  FusedProgram fused = FuseNests(
      std::move(state.program), std::move(state.canonical), state.target,
      state.options.legality, state.taken, state.options.script);
  state.program = std::move(fused.program);
  state.program.next_iterator = {0};
  state.fused = std::move(fused.nests);
}

void Rewrite(State& state) {
  if (state.fused.empty()) return;
  NestScheduler(state.program, state.target, state.options.legality,
                state.taken, state.options.script)
      .Run(state.fused);
}

// What only accumulators hold is stored for nobody.
void DropDeadStores(State& state) {
  state.program = EliminateDeadCode(std::move(state.program));
}

void ShareAgain(State& state) {
  if (!state.had_locals) return;
  state.program = EliminateCommonSubexpressions(std::move(state.program));
}

struct Pass {
  absl::string_view name;
  void (*run)(State& state);
};

constexpr Pass kPasses[] = {
    {"inline_locals", Inline},   {"canonicalize", Canonicalize},
    {"collapse", Collapse},      {"fuse", Fuse},
    {"rewrite", Rewrite},        {"drop_dead_stores", DropDeadStores},
    {"share_again", ShareAgain},
};

}  // namespace

std::vector<absl::string_view> SchedulePasses() {
  std::vector<absl::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

LoopProgram Schedule(LoopProgram program, const Target& target,
                     const ScheduleOptions& options) {
  Decisions ignored;
  const bool had_locals = !program.locals.empty();
  State state{.program = std::move(program),
              .target = target,
              .options = options,
              .taken = options.taken == nullptr ? ignored : *options.taken,
              .had_locals = had_locals};
  for (const Pass& pass : kPasses) {
    if (absl::c_linear_search(options.skip, pass.name)) continue;
    const TraceSpan span("pass", pass.name);
    pass.run(state);
    if (options.observer) options.observer(pass.name, state.program);
  }
  absl::Status status = options.legality == rewrite::Legality::kProve
                            ? VerifyPromises(state.program)
                            : Verify(state.program);
  CHECK(status.ok()) << "after scheduling: " << status.message();
  return std::move(state.program);
}

}  // namespace ocannl
