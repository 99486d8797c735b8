// SPDX-License-Identifier: Apache-2.0
//
// CompareTiers: a program on several tiers, which must leave the same bits.
//
//   OCANNL_ASSIGN_OR_RETURN(Results results,
//                           CompareTiers(tiers, program, run));
#ifndef OCANNL_TIERS_COMPARE_TIERS_H_
#define OCANNL_TIERS_COMPARE_TIERS_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/runtime/backend.h"

namespace ocannl {

struct NamedTier {
  std::string name;
  const Backend* backend;
};

// What is in the `out` and `inout` buffers of a program, in their order.
using Results = std::vector<NdArray>;

// Where and how the results of `program` differ first in a bit: the buffer, the
// index and both values. Empty: nowhere.
std::string DifferenceOf(const LoopProgram& program, const Results& expected,
                         const Results& actual);

// Calls `run` with each tier; returns what all of them gave. Errors: those of
// `run`; the first tier that differs from tiers[0], the buffer and the index
// where it does first, and both values.
absl::StatusOr<Results> CompareTiers(
    absl::Span<const NamedTier> tiers, const LoopProgram& program,
    absl::FunctionRef<absl::StatusOr<Results>(const NamedTier&)> run);

}  // namespace ocannl

#endif  // OCANNL_TIERS_COMPARE_TIERS_H_
