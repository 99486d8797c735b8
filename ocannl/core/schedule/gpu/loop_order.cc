// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/loop_order.h"

#include <algorithm>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl::gpu {
namespace {

using rewrite::ScriptRunner;

// Where the loops are not in that order and may be.
void Reorder(ScriptRunner& script, size_t at,
             const std::vector<NestLoop>& order) {
  std::vector<IteratorId> before;
  for (const For* in = &std::get<For>(script.program().body.stmts[at]);
       in != nullptr; in = OnlyLoopIn(*in)) {
    before.push_back(in->iterator);
  }
  std::string line = "reorder";
  bool moves = false;
  for (size_t k = 0; k < order.size(); ++k) {
    moves = moves || k >= before.size() || before[k] != order[k].iterator;
    absl::StrAppend(&line, " ", Name(order[k].iterator));
  }
  if (!moves || before.size() != order.size()) return;
  script.Line(line).IgnoreError();
}

}  // namespace

void PutOutputsFirst(ScriptRunner& script, size_t at) {
  const LoopProgram& program = script.program();
  const Stmt& stmt = program.body.stmts[at];
  if (auto scatter = AsScatterNest(program, stmt)) {
    std::vector<NestLoop>& order = scatter->loops;
    std::rotate(order.begin(), order.end() - 1, order.end());
    return Reorder(script, at, order);
  }
  std::optional<PerfectNest> nest = AsPerfectNest(program, stmt);
  if (!nest || nest->outputs.empty()) return;
  const int lane = FindLaneLoop(program, *nest);
  std::vector<NestLoop> order = nest->outputs;
  if (lane >= 0) {
    std::rotate(order.begin() + lane, order.begin() + lane + 1, order.end());
  }
  order.insert(order.end(), nest->reduced.begin(), nest->reduced.end());
  Reorder(script, at, order);
}

absl::Status Unschedule(ScriptRunner& script, size_t at) {
  std::vector<IteratorId> par;
  WalkLoops({{script.program().body.stmts[at]}}, [&](const For& loop) {
    if (loop.kind == LoopKind::kPar) par.push_back(loop.iterator);
  });
  for (IteratorId loop : par) {
    OCANNL_RETURN_IF_ERROR(
        script.Line(absl::StrCat("bind ", Name(loop), " for")));
  }
  return absl::OkStatus();
}

}  // namespace ocannl::gpu
