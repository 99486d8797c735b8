// SPDX-License-Identifier: Apache-2.0
//
// The test of the tests: a campaign finds every bug that is put in.
#include "tests/agree/faulty_backend.h"

#include <iostream>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/fuzz/campaign.h"

namespace ocannl::fuzz {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPrograms = 4000;

CampaignResult RunFaulty(const FaultyBackend& backend, uint64_t seed,
                         bool shrink) {
  CampaignOptions options;
  options.seed = seed;
  options.programs = kPrograms;
  options.max_failures = 1;
  options.shrink = shrink;
  options.tiers = {
      {std::string(backend.name()), true, [&] { return &backend; }}};
  return RunCampaign(options);
}

// The last of them after 233 programs; from seed 1 on, after 1293.
TEST(FaultyBackendTest, ACampaignFindsEveryFault) {
  for (const Fault& fault : Faults()) {
    FaultyBackend backend(&fault);
    CampaignResult result = RunFaulty(backend, /*seed=*/2000, /*shrink=*/false);
    ASSERT_EQ(result.failures.size(), 1)
        << fault.name << " is not found in " << kPrograms << " programs";
    std::cout << fault.name << ": program " << result.programs << ", "
              << result.failures[0].difference << "\n";
  }
}

const Fault* FindFault(absl::string_view name) {
  for (const Fault& fault : Faults()) {
    if (fault.name == name) return &fault;
  }
  CHECK(false) << name;
  return nullptr;
}

TEST(FaultyBackendTest, WhatFailsIsMadeSmall) {
  for (absl::string_view name :
       {"rounds_fma_twice", "writes_past_the_end", "forgets_tails"}) {
    FaultyBackend backend(FindFault(name));
    CampaignResult result = RunFaulty(backend, /*seed=*/1, /*shrink=*/true);
    ASSERT_EQ(result.failures.size(), 1);
    const LoopProgram& small = result.failures[0].program;
    std::string text = Print(small);
    std::cout << text;
    EXPECT_TRUE(Verify(small).ok());
    std::vector<std::string> lines = absl::StrSplit(text, '\n');
    EXPECT_LE(lines.size(), 12) << text;
  }
}

}  // namespace
}  // namespace ocannl::fuzz
