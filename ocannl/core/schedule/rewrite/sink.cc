// SPDX-License-Identifier: Apache-2.0
//
// Sink: a statement moves down to the first one that needs it, or to the end
// (code sinking): what comes behind each other may be fused.
//
//   for i0 { y[i0] := 0; }                  for i1 { t[i1] := x[i1] * 2; }
//   for i1 { t[i1] := x[i1] * 2; }    ->    for i0 { y[i0] := 0; }
//   for i2 { y[i2] := y[i2] + t[i2]; }      for i2 { y[i2] := y[i2] + t[i2]; }
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/schedule/rewrite/edit.h"
#include "ocannl/core/schedule/rewrite/rewrite.h"

namespace ocannl::rewrite {

absl::Status Sink(LoopProgram& program, IteratorId loop) {
  OCANNL_ASSIGN_OR_RETURN(const LoopSite site, FindLoop(program, loop));
  if (!site.in_body()) {
    return UserError(Name(loop), " is in a loop: statements of the ",
                     "program's body sink");
  }
  std::vector<Stmt>& stmts = program.body.stmts;
  const size_t conflict =
      FirstConflict(program, stmts, site.at + 1, stmts.size(), stmts[site.at]);
  const size_t to = std::max(site.at + 1, FirstCommentOf(stmts, conflict));
  if (to == site.at + 1) {
    return UserError("there is nothing behind ", Name(loop),
                     ", or it needs it");
  }
  const auto begin = stmts.begin();
  std::rotate(begin + static_cast<int64_t>(FirstCommentOf(stmts, site.at)),
              begin + static_cast<int64_t>(site.at + 1),
              begin + static_cast<int64_t>(to));
  return absl::OkStatus();
}

}  // namespace ocannl::rewrite
