// SPDX-License-Identifier: Apache-2.0
//
// Pictures that are drawn by code, the same for a seed.
#ifndef EXPERIMENTS_NETS_PICTURES_H_
#define EXPERIMENTS_NETS_PICTURES_H_

#include <cstdint>

#include "experiments/nets/supervised.h"

namespace ocannl {

// Digits of 28 x 28 x 1 cells from 0 to 1: shifted, scaled and slanted, with
// noise. Ten classes.
Lessons DrawnDigits(int64_t train_count, int64_t test_count, uint32_t seed);

// Pictures of 32 x 32 x 3 cells from 0 to 1, in two random colours with noise:
// stripes of five directions, a disc, a ring, a square, a chess board, a cross.
// Ten classes.
Lessons DrawnPatterns(int64_t train_count, int64_t test_count, uint32_t seed);

// Pictures of 32 x 32 x 1 cells from 0 to 1 with one to five discs of radii
// from 2 to 8, which do not touch, with noise. Class k has k + 1 of them.
inline constexpr int kMostCircles = 5;
Lessons DrawnCircles(int64_t train_count, int64_t test_count, uint32_t seed);

}  // namespace ocannl

#endif  // EXPERIMENTS_NETS_PICTURES_H_
