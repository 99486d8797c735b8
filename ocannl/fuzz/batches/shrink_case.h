// SPDX-License-Identifier: Apache-2.0
//
// ShrinkCase: test case reduction: a case that fails, made smaller by one step
// at a time until no step leaves one that fails.
#ifndef OCANNL_FUZZ_BATCHES_SHRINK_CASE_H_
#define OCANNL_FUZZ_BATCHES_SHRINK_CASE_H_

#include "absl/functional/function_ref.h"
#include "ocannl/fuzz/batches/batch_case.h"

namespace ocannl::fuzz {

// Drops batches, values and operands, makes operands of values, and cuts sizes,
// rows and the kind of fill, for a minute at most.
BatchCase ShrinkCase(BatchCase one,
                     absl::FunctionRef<bool(const BatchCase&)> fails);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_BATCHES_SHRINK_CASE_H_
