// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/schedule.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/opt/common_subexpressions.h"
#include "ocannl/core/opt/dead_code.h"
#include "ocannl/core/schedule/cpu/collapse.h"
#include "ocannl/core/schedule/cpu/fuse_nests.h"
#include "ocannl/core/schedule/cpu/layout.h"
#include "ocannl/core/schedule/cpu/nest_scheduler.h"
#include "ocannl/core/schedule/nests/canonicalize.h"

namespace ocannl {
namespace {

// What the passes make, each of what the one before it made.
struct Scheduled {
  LoopProgram program;
  // Of each statement, where those passes have run.
  std::vector<CanonicalNest> canonical = {};
  FusedNests fused = {};
};

// What the passes work on and with.
struct State {
  Scheduled now;
  const Target& target;
  const ScheduleOptions& options;
  const bool had_locals;

  absl::Status Verified(FaultPlace* place = nullptr) const {
    return options.legality == rewrite::Legality::kProve
               ? VerifyPromises(now.program, place)
               : Verify(now.program, place);
  }

  absl::Status Fault(absl::string_view pass) {
    return options.fault ? options.fault(pass, now.program) : absl::OkStatus();
  }

  size_t ScriptSize() const {
    return options.script == nullptr ? 0 : options.script->size();
  }
  void Restore(const Scheduled& before, size_t script_size) {
    now = before;
    if (rewrite::Script* script = options.script) {
      script->erase(script->begin() + static_cast<int64_t>(script_size),
                    script->end());
    }
  }
};

absl::Status Inline(State& state) {
  if (!state.had_locals) return absl::OkStatus();
  state.now.program = InlineLocals(std::move(state.now.program));
  return absl::OkStatus();
}

absl::Status Canonicalize(State& state) {
  state.now.canonical = CanonicalizeNests(state.now.program);
  CountIterators(state.now.program);
  return absl::OkStatus();
}

absl::Status Collapse(State& state) {
  OCANNL_ASSIGN_OR_RETURN(
      const bool collapsed,
      CollapseLoops(state.now.program, state.options.script));
  if (!collapsed) return absl::OkStatus();
  if (!state.now.canonical.empty()) {
    state.now.canonical = CanonicalNestsOf(state.now.program);
  }
  return absl::OkStatus();
}

absl::Status LayOut(State& state) {
  if (state.now.canonical.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(const bool changed,
                          ChooseLayouts(state.now.program, state.now.canonical,
                                        state.target, state.options.script));
  if (changed) state.now.canonical = CanonicalNestsOf(state.now.program);
  return absl::OkStatus();
}

absl::Status FuseBut(State& state, absl::flat_hash_set<IteratorId> alone) {
  if (state.now.canonical.empty()) return absl::OkStatus();
  OCANNL_ASSIGN_OR_RETURN(
      FusedProgram fused,
      FuseNests(std::move(state.now.program), std::move(state.now.canonical),
                state.target,
                {.legality = state.options.legality,
                 .script = state.options.script,
                 .alone = std::move(alone)}));
  if (state.options.plan != nullptr) *state.options.plan = fused;
  state.now.program = std::move(fused.program);
  state.now.fused = std::move(fused.nests);
  return state.Fault("fuse");
}

absl::Status Fuse(State& state) { return FuseBut(state, {}); }

absl::Status RewriteNests(State& state, bool verifies) {
  if (state.now.fused.empty()) return absl::OkStatus();
  return ScheduleNests(state.now.program, state.now.fused, state.target,
                       state.options, verifies);
}

absl::Status Rewrite(State& state) {
  return RewriteNests(state, /*verifies=*/false);
}

absl::Status RewriteVerified(State& state) {
  return RewriteNests(state, /*verifies=*/true);
}

// Stores of values that live only in accumulators are dead.
absl::Status DropDeadStores(State& state) {
  state.now.program = EliminateDeadCode(std::move(state.now.program));
  return absl::OkStatus();
}

absl::Status ShareAgain(State& state) {
  if (!state.had_locals) return absl::OkStatus();
  state.now.program =
      EliminateCommonSubexpressions(std::move(state.now.program));
  return absl::OkStatus();
}

// The outermost loops of nests that touch a buffer that the statement touches
// and a nest writes.
absl::flat_hash_set<IteratorId> Neighbours(const LoopProgram& program,
                                           const Effects& of) {
  const std::vector<BufferId> buffers = of.buffers();
  auto shares = [&](BufferId id) {
    return absl::c_linear_search(buffers, id) &&
           !IsReadOnly(program.buffers[id].role);
  };
  absl::flat_hash_set<IteratorId> loops;
  for (const Stmt& stmt : program.body.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr) continue;
    if (absl::c_any_of(EffectsOf(program, stmt).buffers(), shares)) {
      loops.insert(loop->iterator);
    }
  }
  return loops;
}

// The statement of the program's body that has the fault, of a buffer the last
// one that writes it; null: none has.
const Stmt* StmtAt(const LoopProgram& program, const FaultPlace& place) {
  const Stmt* found = nullptr;
  size_t visited = 0;
  for (const Stmt& stmt : program.body.stmts) {
    if (absl::c_linear_search(EffectsOf(program, stmt).writes, place.buffer)) {
      found = &stmt;
    }
    WalkStmts(Block{{stmt}}, [&](const Stmt&) { ++visited; });
    if (place.stmt && visited > *place.stmt) return &stmt;
  }
  return found;
}

absl::flat_hash_set<IteratorId> OutermostLoops(const LoopProgram& program) {
  absl::flat_hash_set<IteratorId> loops;
  for (const Stmt& stmt : program.body.stmts) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr) loops.insert(loop->iterator);
  }
  return loops;
}

// Fuses all but the nests that share a buffer with one that Verify refuses. An
// error without a place leaves all nests apart, so that each is scheduled.
absl::Status FuseVerified(State& state) {
  const Scheduled before = state.now;
  const size_t script_size = state.ScriptSize();
  absl::flat_hash_set<IteratorId> alone;
  while (true) {
    FaultPlace place;
    absl::Status status = FuseBut(state, alone);
    const bool is_made = status.ok();
    if (is_made) status = state.Verified(&place);
    if (status.ok()) return status;
    const LoopProgram& fused = state.now.program;
    const Stmt* fault = is_made ? StmtAt(fused, place) : nullptr;
    const size_t known = alone.size();
    Refusal refusal{.nest = "", .pass = "fuse", .reason = {}};
    if (fault != nullptr) {
      refusal = RefusalOf(fused, *fault, "fuse", {});
      alone.merge(Neighbours(before.program, EffectsOf(fused, *fault)));
    }
    if (alone.size() == known) alone = OutermostLoops(before.program);
    if (alone.size() == known) return status;
    refusal.reason = std::string(status.message());
    Report(std::move(refusal), state.options.refused);
    state.Restore(before, script_size);
  }
}

struct Pass {
  absl::string_view name;
  // Error, with all lost: that of a rewrite.
  absl::Status (*run)(State& state);
  // The same nest by nest, where Verify refuses what `run` makes; null: the
  // pass is left out then.
  absl::Status (*run_verified)(State& state) = nullptr;
};

constexpr Pass kPasses[] = {
    {"inline_locals", Inline},
    // There are no locals.
    {"canonicalize", Canonicalize},
    // A nest of one statement has no unit loops, and its reduced loops are
    // innermost. Loops are numbered for the script.
    {"collapse", Collapse},
    {"layout", LayOut},
    {"fuse", Fuse, FuseVerified},
    // Each statement of the body is a nest of a known form, or stays.
    {"rewrite", Rewrite, RewriteVerified},
    // Nests are as the target wants them. The script ends.
    {"drop_dead_stores", DropDeadStores},
    {"share_again", ShareAgain},
};

// Runs the pass and what it has for nests that are refused; where that does not
// help either, nothing is done.
void RunVerified(const Pass& pass, State& state) {
  const Scheduled before = state.now;
  const size_t script_size = state.ScriptSize();
  absl::Status status;
  for (auto run : {pass.run, pass.run_verified}) {
    if (run == nullptr) continue;
    status = run(state);
    if (status.ok() && pass.run_verified == nullptr) {
      status = state.Fault(pass.name);
    }
    if (status.ok()) status = state.Verified();
    if (status.ok()) return;
    state.Restore(before, script_size);
  }
  Report({.nest = "",
          .pass = std::string(pass.name),
          .reason = std::string(status.message())},
         state.options.refused);
}

// Calls `run` with each pass.
absl::Status ForPasses(State& state,
                       absl::FunctionRef<absl::Status(const Pass&)> run) {
  for (const Pass& pass : kPasses) {
    if (absl::c_linear_search(state.options.skip, pass.name)) continue;
    if (IsCancelled()) break;
    const TraceSpan span("pass", pass.name);
    OCANNL_RETURN_IF_ERROR(run(pass));
  }
  return absl::OkStatus();
}

// Error: that of a rewrite, or what Verify says of the result.
absl::Status RunAll(State& state) {
  const absl::Status status = ForPasses(state, [&](const Pass& pass) {
    OCANNL_RETURN_IF_ERROR(pass.run(state));
    if (pass.run_verified == nullptr) {
      OCANNL_RETURN_IF_ERROR(state.Fault(pass.name));
    }
    // A test is told the pass, and others save the time.
    return AreRefusalsFatal() ? state.Verified() : absl::OkStatus();
  });
  return status.ok() ? state.Verified() : status;
}

void RunAllVerified(State& state) {
  ForPasses(state, [&](const Pass& pass) {
    RunVerified(pass, state);
    if (state.options.observer) {
      state.options.observer(pass.name, state.now.program);
    }
    return absl::OkStatus();
  }).IgnoreError();
}

}  // namespace

std::vector<absl::string_view> SchedulePasses() {
  std::vector<absl::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  return names;
}

LoopProgram Schedule(const LoopProgram& program, const Target& target,
                     const ScheduleOptions& options) {
  State state{.now = {.program = program},
              .target = target,
              .options = options,
              .had_locals = !program.locals.empty()};
  const size_t script_size = state.ScriptSize();
  // To verify takes as long as the program is, so it is done once; but after
  // each pass where somebody looks.
  if (!options.observer && RunAll(state).ok()) {
    return std::move(state.now.program);
  }
  state.Restore({.program = program}, script_size);
  RunAllVerified(state);
  return std::move(state.now.program);
}

}  // namespace ocannl
