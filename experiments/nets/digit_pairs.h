// SPDX-License-Identifier: Apache-2.0
//
// Pairs of digits and their sums, as lessons.
#ifndef EXPERIMENTS_NETS_DIGIT_PAIRS_H_
#define EXPERIMENTS_NETS_DIGIT_PAIRS_H_

#include <cstdint>

#include "experiments/nets/supervised.h"

namespace ocannl {

// Pairs of the images of `digits`, each of two that are both to train, or both
// for the tests: inputs {count, 2, height, width, 1}, and as classes the sums
// of theirs. Which they are depends on the seed.
Lessons PairsOf(const Lessons& digits, int64_t train_count, int64_t test_count,
                uint32_t seed);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_DIGIT_PAIRS_H_
