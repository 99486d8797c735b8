// SPDX-License-Identifier: Apache-2.0
//
// Buckets: the code of a gradient in parts, so that gradients of one part are
// merged while the next parts run. This is gradient bucketing, as in Li et al.,
// "PyTorch Distributed", 2020. The parts, run in order, compute the bits of the
// whole.
#ifndef OCANNL_TRAIN_PARALLEL_BUCKETS_H_
#define OCANNL_TRAIN_PARALLEL_BUCKETS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "ocannl/core/assign/ir.h"
#include "ocannl/core/tensor/tensor.h"

namespace ocannl::train {

struct GradientPart {
  Assignments code;
  std::vector<int> bucket;  // the gradients that it ends, by their numbers
};

// Cuts `code`, which keeps the gradients of `trained`, after each
// `bucket_bytes` or more of finished gradients. Values that one part computes
// and another one reads are kept in memory between them; where that is not
// possible, there is no cut. Code that computes narrow floats is never cut,
// since its sums are rounded once, and 0 `bucket_bytes` means no cuts.
std::vector<GradientPart> CutAtBuckets(const Assignments& code,
                                       absl::Span<const Tensor> trained,
                                       int64_t bucket_bytes);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_BUCKETS_H_
