// SPDX-License-Identifier: Apache-2.0
//
// Random cases: layers, einsums of two to five operands, sums, extremes,
// softmax, norms, attention, convolutions and pools over axes whose extents are
// near those where orders of sums could change.
//
//   BatchCase one = RandomBatchCase(/*seed=*/17);
#ifndef OCANNL_FUZZ_BATCHES_RANDOM_CASE_H_
#define OCANNL_FUZZ_BATCHES_RANDOM_CASE_H_

#include <cstdint>

#include "ocannl/fuzz/batches/batch_case.h"

namespace ocannl::fuzz {

BatchCase RandomBatchCase(uint64_t seed);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_BATCHES_RANDOM_CASE_H_
