// SPDX-License-Identifier: Apache-2.0
//
// A seeded, bounded campaign over every tier of this machine. A longer one:
// bazel run //ocannl -- fuzz --programs=100000
#include "ocannl/fuzz/campaign.h"

#include <algorithm>
#include <iostream>

#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {
namespace {

TEST(CampaignTest, EveryTierHasTheBitsOfTheInterpreter) {
  CampaignOptions options;
  // These find 24 of the 25 faults of //tests/agree:faulty_backend_test.
  options.seed = 2000;
  options.programs = 150;
  options.max_failures = 1;
  absl::StatusOr<std::vector<ComparedTier>> tiers = FindComparedTiers({"all"});
  CHECK_OK(tiers);
  options.tiers = *tiers;
  CampaignResult result = RunCampaign(options);
  std::cout << Report(result) << Coverage(result);
  for (const Failure& failure : result.failures) {
    ADD_FAILURE() << ReproText(failure, "FILE.ll");
  }
  EXPECT_EQ(result.programs, options.programs);
  EXPECT_GT(result.mostly_finite, result.programs * 6 / 10);
}

// One program in a hundred or more, for one of the targets at least.
TEST(CampaignTest, ProgramsReachAllDecisionsOfTheScheduler) {
  CampaignOptions options;
  options.programs = 1500;
  const CampaignResult result = RunCampaign(options);  // on no tier
  EXPECT_EQ(result.programs, options.programs);
  for (int k = 0; k < kNumDecisions; ++k) {
    int64_t most = 0;
    for (const auto& counts : result.decisions) {
      most = std::max(most, counts[k]);
    }
    EXPECT_GE(most, result.programs / 100) << Name(static_cast<Decision>(k));
  }
}

}  // namespace
}  // namespace ocannl::fuzz
