// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/opt/pipeline.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/analysis/promises.h"
#include "ocannl/core/base/float_environment.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/base/system/cancellation.h"
#include "ocannl/core/base/system/trace_events.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/opt/block_rows.h"
#include "ocannl/core/opt/common_subexpressions.h"
#include "ocannl/core/opt/dead_code.h"
#include "ocannl/core/opt/rules.h"
#include "ocannl/core/opt/simplify.h"
#include "ocannl/core/opt/virtualize.h"

namespace ocannl {
namespace {

LoopProgram SimplifyExact(LoopProgram program) {
  return Simplify(std::move(program), RuleClass::kExact);
}

LoopProgram SimplifyReal(LoopProgram program) {
  return Simplify(std::move(program), RuleClass::kReal);
}

LoopProgram BlockLargeRows(LoopProgram program) {
  return BlockRows(std::move(program), {});
}

constexpr Pass kPasses[] = {
    {"virtualize", Virtualize, true},
    {"simplify", SimplifyExact, true},
    // What the first round made a constant costs nothing to repeat.
    {"virtualize", Virtualize, true},
    // Until here each nest has one store. Temps that were inlined have none.
    {"prune", EliminateDeadCode, true},
    {"simplify", SimplifyExact, true},
    {"simplify_real", SimplifyReal, false},
    // The temps that are left need memory. Statements have no locals.
    {"block_rows", BlockLargeRows, true},
    // From here on statements have locals, which Virtualize does not inline.
    {"share", EliminateCommonSubexpressions, true},
};

absl::Status CheckName(absl::string_view name) {
  if (absl::c_any_of(kPasses, [&](const Pass& p) { return p.name == name; })) {
    return absl::OkStatus();
  }
  absl::btree_set<absl::string_view> names;
  for (const Pass& pass : kPasses) names.insert(pass.name);
  return UserError("no pass `", name, "`; the passes are ",
                   absl::StrJoin(names, ", "));
}

absl::Status VerifyAfter(absl::string_view what, const LoopProgram& program,
                         absl::Status (*verify)(const LoopProgram&,
                                                FaultPlace*)) {
  const absl::Status status = verify(program, nullptr);
  if (status.ok()) return status;
  return absl::InternalError(absl::StrCat(
      what,
      " breaks a rule of programs, which is a bug of ours (--skip leaves "
      "passes out): ",
      status.message()));
}

}  // namespace

absl::Span<const Pass> Passes() { return kPasses; }

bool PassOptions::Allows(const Pass& pass) const {
  return (pass.exact || real) && !absl::c_linear_search(skip, pass.name);
}

absl::StatusOr<LoopProgram> Optimize(LoopProgram program,
                                     const PassOptions& options) {
  for (const std::string& name : options.skip) {
    OCANNL_RETURN_IF_ERROR(CheckName(name));
  }
  if (!options.stop_after.empty()) {
    OCANNL_RETURN_IF_ERROR(CheckName(options.stop_after));
  }
  DefaultFloatEnvironment guard;  // constants are folded here
  OCANNL_RETURN_IF_ERROR(VerifyPromises(program));
  int ran = 0;
  for (const Pass& pass : kPasses) {
    if (options.limit >= 0 && ran >= options.limit) break;
    if (options.Allows(pass)) {
      OCANNL_RETURN_IF_ERROR(CheckNotCancelled());
      const TraceSpan span("pass", pass.name);
      program = pass.run(std::move(program));
      ++ran;
      if (options.observer) {
        OCANNL_RETURN_IF_ERROR(VerifyAfter(pass.name, program, VerifyPromises));
        options.observer(pass, program);
      }
    }
    if (pass.name == options.stop_after) break;
  }
  if (!options.observer) {
    OCANNL_RETURN_IF_ERROR(VerifyAfter("a pass", program, Verify));
  }
  return program;
}

}  // namespace ocannl
