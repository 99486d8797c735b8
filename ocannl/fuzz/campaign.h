// SPDX-License-Identifier: Apache-2.0
//
// A campaign of differential testing: many random programs on many tiers, each
// compared with the interpreter, and what came of it.
//
//   CampaignResult result = RunCampaign({.seed = 1, .programs = 1000,
//                                        .tiers =
//                                        *FindComparedTiers({"all"})});
//   std::cout << Report(result);
#ifndef OCANNL_FUZZ_CAMPAIGN_H_
#define OCANNL_FUZZ_CAMPAIGN_H_

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ocannl/core/loop/loop.h"
#include "ocannl/core/schedule/cpu/decisions.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/programs/policy.h"

namespace ocannl::fuzz {

struct CampaignOptions {
  uint64_t seed = 1;  // of the first program; the next ones count up
  int64_t programs = 1000;
  double seconds = 1e9;      // no program starts later than this
  int64_t max_failures = 5;  // to stop after; one CHECK that fails is one
  bool shrink = true;        // what fails
  std::vector<ComparedTier> tiers;
  // Tried on the inputs of each seed, instead of random programs.
  std::optional<LoopProgram> program;
};

struct Failure {
  uint64_t seed;      // of the first program
  int64_t times = 1;  // programs in which the same CHECK failed
  std::string tier;
  std::string check;  // the CHECK that failed; empty: none did
  std::string difference;
  LoopProgram program;  // made small, if so asked
};

// How many programs took each decision of the scheduler, for each target.
inline constexpr int kNumTargets = std::size(kComparedTargets);
using DecisionCounts =
    std::array<std::array<int64_t, kNumDecisions>, kNumTargets>;

struct CampaignResult {
  uint64_t seed = 0;
  int64_t programs = 0;
  int64_t mostly_finite = 0;  // programs with over 90 % finite outputs
  double seconds = 0;
  std::array<int64_t, kNumPolicies> policies =
      {};  // programs with each; 0: no random ones
  DecisionCounts decisions = {};
  std::vector<ComparedTier> tiers;
  std::vector<Failure> failures;
};

// Trials run in child processes, so one that crashes or hangs is a failure
// like any other.
CampaignResult RunCampaign(const CampaignOptions& options);

// Seed, programs, programs per hour; failures of each tier, or why there are
// none; the bound that none supports (rule of three).
std::string Report(const CampaignResult& result);

// What the programs were: finite outputs; policies; the scheduler's decisions,
// all of them.
std::string Coverage(const CampaignResult& result);

// The program as text that Parse takes, with what failed and, for a file at
// `path` with this text, how to see it again.
std::string ReproText(const Failure& failure, absl::string_view path);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_CAMPAIGN_H_
