// SPDX-License-Identifier: Apache-2.0
//
// CompareCode: what code computes on other tiers, against the interpreter.
#ifndef OCANNL_FUZZ_NOTATION_COMPARE_CODE_H_
#define OCANNL_FUZZ_NOTATION_COMPARE_CODE_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/fuzz/compared_tiers.h"

namespace ocannl::fuzz {

// Which tiers run the code, on the inputs of which seed.
struct CodeTrial {
  absl::Span<const ComparedTier> tiers = {};
  uint64_t seed = 1;
};

// Tries `code`, which compiles, as users run it, and the optimiser on its loops
// as they are lowered. Tells of the first tier with other bits than the
// interpreter; empty: there is none. A CHECK that fails ends the process.
std::string CompareCode(const Assignments& code, const CodeTrial& trial);

// `code` with other operators in some assignments, such as =:** and =||, which
// no graph has. What accumulates goes on to do so. Same seed, same code.
Assignments WithOtherOperators(Assignments code, uint64_t seed);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_COMPARE_CODE_H_
