// SPDX-License-Identifier: Apache-2.0
#include "ocannl/tiers/compare_tiers.h"

#include "absl/strings/str_cat.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/tiering/first_difference.h"

namespace ocannl {

std::string DifferenceOf(const LoopProgram& program, const Results& expected,
                         const Results& actual) {
  size_t next = 0;
  for (const Buffer& buffer : program.buffers) {
    if (!IsResult(buffer.role)) continue;
    std::string difference =
        FirstDifference(buffer, expected[next], actual[next]);
    if (!difference.empty()) return difference;
    ++next;
  }
  return "";
}

absl::StatusOr<Results> CompareTiers(
    absl::Span<const NamedTier> tiers, const LoopProgram& program,
    absl::FunctionRef<absl::StatusOr<Results>(const NamedTier&)> run) {
  OCANNL_ASSIGN_OR_RETURN(Results expected, run(tiers[0]));
  for (const NamedTier& tier : tiers.subspan(1)) {
    OCANNL_ASSIGN_OR_RETURN(Results actual, run(tier));
    std::string difference = DifferenceOf(program, expected, actual);
    if (difference.empty()) continue;
    return absl::InternalError(absl::StrCat(tier.name, " differs from ",
                                            tiers[0].name, ": ", difference));
  }
  return expected;
}

}  // namespace ocannl
