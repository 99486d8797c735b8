// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/promises.h"

#include <cstddef>
#include <string>

#include "absl/strings/str_cat.h"
#include "ocannl/core/analysis/dependence.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/walk.h"

namespace ocannl {

absl::Status CheckKind(const LoopProgram& program, const For& loop,
                       LoopKind kind) {
  const std::string name = Name(loop.iterator);
  if (kind == LoopKind::kPar) {
    return CheckNone(WhyNotParallel(program, loop), program,
                     absl::StrCat(name, " cannot run in parallel"));
  }
  if (kind != LoopKind::kVec) return absl::OkStatus();
  bool is_around = false;
  WalkLoops(loop.body, [&](const For&) { is_around = true; });
  if (is_around) {
    return UserError(name,
                     " is around another loop: only an innermost one can ",
                     "run as lanes");
  }
  return CheckNone(WhyNotVectorizable(program, loop), program,
                   absl::StrCat(name, " cannot run as lanes"));
}

absl::Status CheckKinds(const LoopProgram& program, FaultPlace* place) {
  absl::Status status;
  size_t visited = 0;
  WalkStmts(program.body, [&](const Stmt& stmt) {
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && status.ok()) {
      status = CheckKind(program, *loop, loop->kind);
      if (!status.ok() && place != nullptr) place->stmt = visited;
    }
    ++visited;
  });
  if (status.ok()) return status;
  return UserError(status.message(), "; make it a for loop");
}

absl::Status VerifyPromises(const LoopProgram& program, FaultPlace* place) {
  OCANNL_RETURN_IF_ERROR(Verify(program, place));
  return CheckKinds(program, place);
}

}  // namespace ocannl
