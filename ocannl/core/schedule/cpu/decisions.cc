// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/decisions.h"

#include <cstddef>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/overload.h"
#include "ocannl/core/loop/walk.h"
#include "ocannl/core/schedule/cpu/fuse_nests.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/core/schedule/rewrite/rewriter.h"

namespace ocannl {
namespace {

using Rewrites = absl::flat_hash_set<absl::string_view>;  // their names

// Those of each nest of the plan.
std::vector<Rewrites> RewritesOfNests(const FusedProgram& plan,
                                      const rewrite::Script& script) {
  absl::flat_hash_map<IteratorId, size_t> nest_of;
  const std::vector<Stmt>& stmts = plan.program.body.stmts;
  for (size_t k = 0; k < stmts.size(); ++k) {
    const auto add = [&](const For& loop) { nest_of[loop.iterator] = k; };
    WalkLoops({{stmts[k]}}, add);
  }
  std::vector<Rewrites> rewrites(stmts.size());
  for (const rewrite::Step& step : script) {
    if (step.arguments.loops.empty()) continue;
    const auto nest = nest_of.find(step.arguments.loops[0]);
    if (nest == nest_of.end()) continue;  // it was fused with another one
    const size_t k = nest->second;
    rewrites[k].insert(step.row->name);
    for (IteratorId loop : step.made) nest_of[loop] = k;
  }
  return rewrites;
}

void AddContraction(const Contraction& contraction, Decisions& taken) {
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

void AddKept(const LoopProgram& program, const Stmt& stmt, Decisions& taken) {
  if (!std::holds_alternative<For>(stmt)) return;
  taken.Add(Decision::kKept);
  taken.AddIf(absl::c_any_of(EffectsOf(program, stmt).writes,
                             [&](BufferId buffer) {
                               return program.buffers[buffer].role ==
                                      Role::kPrivate;
                             }),
              Decision::kKeptPrivates);
}

}  // namespace

absl::string_view Name(Decision decision) {
  switch (decision) {
#define OCANNL_CASE(name, text) \
  case Decision::k##name:       \
    return text;
    OCANNL_DECISIONS(OCANNL_CASE)
#undef OCANNL_CASE
  }
  __builtin_unreachable();
}

Decisions DecisionsOf(const LoopProgram& program, const Target& target) {
  FusedProgram plan;
  rewrite::Script script;
  Schedule(program, target, {.plan = &plan, .script = &script});
  Decisions taken;
  for (const rewrite::Step& step : script) {
    taken.AddIf(step.row->name == "collapse", Decision::kCollapsedLoops);
    taken.AddIf(step.row->name == "sink", Decision::kSunkToConsumer);
  }
  const std::vector<Rewrites> rewrites = RewritesOfNests(plan, script);
  for (size_t k = 0; k < plan.nests.size(); ++k) {
    const Rewrites& done = rewrites[k];
    if (plan.nests[k] == nullptr) {
      AddKept(plan.program, plan.program.body.stmts[k], taken);
      continue;
    }
    std::visit(
        Overload{
            [&](const MapNest& map) {
              taken.Add(Decision::kMap);
              taken.AddIf(!map.consumers.empty(), Decision::kMapWithEpilogues);
              taken.AddIf(done.contains("unroll_jam"),
                          Decision::kTransposedMap);
              taken.AddIf(done.contains("parallel"), Decision::kParallelMap);
            },
            [&](const Contraction& contraction) {
              AddContraction(contraction, taken);
              taken.AddIf(done.contains("parallel"),
                          Decision::kParallelContract);
            },
            [&](const ScatterNest&) { taken.Add(Decision::kScatter); },
            [&](const FusedRows&) {
              taken.Add(Decision::kFusedRows);
              taken.AddIf(done.contains("transpose_rows"),
                          Decision::kRowBlocks);
            },
        },
        *plan.nests[k]);
  }
  return taken;
}

}  // namespace ocannl
