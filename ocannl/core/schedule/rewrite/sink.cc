// SPDX-License-Identifier: Apache-2.0
//
// Sink: a statement moves down to the first one that needs it, or to the end
// (code sinking): what comes behind each other may be fused.
//
//   for i0 { y[i0] := 0; }                  for i1 { t[i1] := x[i1] * 2; }
//   for i1 { t[i1] := x[i1] * 2; }    ->    for i0 { y[i0] := 0; }
//   for i2 { y[i2] := y[i2] + t[i2]; }      for i2 { y[i2] := y[i2] + t[i2]; }
#include <algorithm>
#include <vector>

#include "absl/algorithm/container.h"
#include "ocannl/core/analysis/nest.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {

absl::Status Sink(LoopProgram& program, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  if (!site.in_body()) {
    return IllegalError(Name(loop), " is in a loop: statements of the ",
                        "program's body sink");
  }
  std::vector<Stmt>& stmts = program.body.stmts;
  if (absl::c_any_of(stmts, [](const Stmt& stmt) {
        return std::holds_alternative<DeclareLocal>(stmt);
      })) {
    return IllegalError("statements of the body may need its locals; demote ",
                        "those before");
  }
  const Effects effects = EffectsOf(program, stmts[site.at]);
  const auto at = stmts.begin() + static_cast<int64_t>(site.at);
  auto to = std::find_if(at + 1, stmts.end(), [&](const Stmt& stmt) {
    return Conflict(effects, EffectsOf(program, stmt));
  });
  // Comments belong to what they stand before.
  auto is_comment = [](const Stmt& stmt) {
    return std::holds_alternative<Comment>(stmt);
  };
  while (to != at + 1 && is_comment(*(to - 1))) --to;
  auto from = at;
  while (from != stmts.begin() && is_comment(*(from - 1))) --from;
  if (to == at + 1) {
    return IllegalError("there is nothing behind ", Name(loop),
                        ", or it needs it");
  }
  std::rotate(from, at + 1, to);
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
