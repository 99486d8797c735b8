// SPDX-License-Identifier: Apache-2.0
//
// Buckets: the code of a gradient in parts, so that the gradients that one part
// has computed can be merged while the next ones run (gradient bucketing, as in
// Li et al., "PyTorch Distributed", 2020). The parts, run in order, compute the
// bits of the whole.
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

// Cuts `code`, which keeps the gradients of those `trained`, where gradients of
// `bucket_bytes` or more are done. What one part computes and another one reads
// is kept in memory between them; where it cannot be, there is no cut, and none
// at all in code that computes narrow floats, whose sums are rounded once, or
// if `bucket_bytes` is 0.
std::vector<GradientPart> CutAtBuckets(const Assignments& code,
                                       absl::Span<const Tensor> trained,
                                       int64_t bucket_bytes);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_PARALLEL_BUCKETS_H_
