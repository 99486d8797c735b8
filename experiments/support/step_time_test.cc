// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/step_time.h"

#include <algorithm>
#include <bit>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

constexpr StepCost kCost = {.forward_seconds = 1,
                            .backward_seconds = 2,
                            .update_seconds = 0.5,
                            .bytes = 1000,
                            .arrays = 10};
// A message of all arrays takes 0.1 + 0.5 seconds, and adding them 0.25.
constexpr Network kNetwork = {.seconds_per_message = 0.01,
                              .seconds_per_byte = 0.5e-3,
                              .seconds_per_byte_added = 0.25e-3};

TEST(StepTime, OneRankOnlyComputes) {
  for (int buckets : {1, 4}) {
    EXPECT_DOUBLE_EQ(StepSeconds(kCost, kNetwork, 1, buckets), 3.5);
  }
}

TEST(StepTime, ANetworkThatCostsNothing) {
  for (int ranks : {1, 3, 1024}) {
    EXPECT_DOUBLE_EQ(StepSeconds(kCost, {}, ranks, 1), 3.5);
  }
}

TEST(StepTime, StagesAreTheLogarithmOfTheRanks) {
  for (int stages = 0; stages <= 10; ++stages) {
    EXPECT_NEAR(StepSeconds(kCost, kNetwork, 1 << stages, 1),
                3.5 + stages * (0.6 + 0.25) + stages * 0.6, 1e-9);
  }
}

TEST(StepTime, OtherNumbersOfRanksAreBetweenPowersOfTwo) {
  for (int ranks = 1; ranks <= 100; ++ranks) {
    const auto below = static_cast<int>(std::bit_floor(unsigned(ranks)));
    const double seconds = StepSeconds(kCost, kNetwork, ranks, 1);
    EXPECT_GE(seconds + 1e-9, StepSeconds(kCost, kNetwork, below, 1));
    EXPECT_LE(seconds - 1e-9, StepSeconds(kCost, kNetwork, 2 * below, 1));
  }
}

// Two ranks, two buckets: the first, ready at 2, is merged in 0.425 seconds,
// while the second is computed, until 3.
TEST(StepTime, OverlapLeavesTheLastBucket) {
  EXPECT_NEAR(StepSeconds(kCost, kNetwork, 2, 2), 3 + 0.425 + 0.5 + 0.6, 1e-9);
}

TEST(StepTime, OverlapIsBoundedByTheLongerOne) {
  for (int ranks : {2, 8, 64, 1024}) {
    const double merging = std::bit_width(unsigned(ranks) - 1) * (0.6 + 0.25);
    const double rest = 0.5 + std::bit_width(unsigned(ranks) - 1) * 0.6;
    const double alone = StepSeconds(kCost, kNetwork, ranks, 1);
    for (int buckets : {2, 5, 10}) {
      const double seconds = StepSeconds(kCost, kNetwork, ranks, buckets);
      EXPECT_LT(seconds, alone);
      EXPECT_GE(seconds, std::max(3.0, 1 + merging) + rest - 1e-9);
      // All but the first bucket's part of the backward pass, or the last one's
      // of the merges, is hidden.
      EXPECT_LE(seconds,
                std::max(3 + merging / buckets, 1 + 2.0 / buckets + merging) +
                    rest + 1e-9);
    }
  }
}

TEST(StepTime, ManySmallBucketsCostMessages) {
  EXPECT_GT(StepSeconds(kCost, kNetwork, 8, 5000),
            StepSeconds(kCost, kNetwork, 8, 10));
}

}  // namespace
}  // namespace ocannl
