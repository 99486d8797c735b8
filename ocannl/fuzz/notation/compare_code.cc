// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/notation/compare_code.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/verify.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/notation/operators.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/programs/random.h"
#include "ocannl/fuzz/trial.h"

namespace ocannl::fuzz {
namespace {

// The tier that compares the optimiser with what it is given.
constexpr absl::string_view kOptimizer = "optimize";

}  // namespace

std::string CompareCode(const Assignments& code, const CodeTrial& trial) {
  auto lowered = Lower(code);
  CHECK_OK(lowered);
  auto compiled = CompileProgram(code, {});
  CHECK_OK(compiled);
  const FillKind kind = KindOf(trial.seed);
  for (bool is_optimizer : {true, false}) {
    const Trial one(is_optimizer ? *lowered : *compiled, kind, trial.seed);
    for (const ComparedTier& tier : trial.tiers) {
      if (!tier.available || tier.is_slow) continue;
      if ((tier.name == kOptimizer) != is_optimizer) continue;
      const std::string difference = one.Try(*tier.backend());
      if (!difference.empty()) return absl::StrCat(tier.name, ": ", difference);
    }
  }
  return "";
}

Assignments WithOtherOperators(Assignments code, uint64_t seed) {
  Random random(seed);
  for (Assignment& assignment : code.list) {
    auto* assign = std::get_if<Assign>(&assignment);
    if (assign == nullptr || random.OneIn(3)) continue;
    const AssignOperator& other = random.Pick(kAssignOperators);
    if (!other.accum) continue;
    Assign varied = *assign;
    // A cell that nothing has set may not be read.
    varied.reset = !assign->accum || assign->reset;
    varied.accum = other.accum;
    if (VerifyAssign(code, varied).ok()) *assign = std::move(varied);
  }
  return code;
}

}  // namespace ocannl::fuzz
