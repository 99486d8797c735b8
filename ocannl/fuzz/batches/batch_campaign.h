// SPDX-License-Identifier: Apache-2.0
//
// A campaign over random graphs, each computed for several batches of rows: a
// row must have the same bits in all of them, and rows of padding must not
// change what is summed over rows.
//
//   BatchCampaignResult result = RunBatchCampaign(
//       {.seed = 1, .cases = 1000, .tiers = *FindComparedTiers({"x86-avx2"})});
//   std::cout << Report(result);
#ifndef OCANNL_FUZZ_BATCHES_BATCH_CAMPAIGN_H_
#define OCANNL_FUZZ_BATCHES_BATCH_CAMPAIGN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "ocannl/fuzz/batches/batch_case.h"
#include "ocannl/fuzz/compared_tiers.h"

namespace ocannl::fuzz {

struct BatchCampaignOptions {
  uint64_t seed = 1;  // of the first case; the next ones count up
  int64_t cases = 1000;
  double seconds = 1e9;      // no case starts later than this
  int64_t max_failures = 5;  // to stop after
  bool shrink = true;        // what fails
  std::vector<ComparedTier> tiers = {};
  std::optional<BatchCase> only = {};  // tried once, instead of random cases
};

struct BatchFailure {
  uint64_t seed;
  std::string tier;
  std::string difference;
  BatchCase small;  // of two batches; made small, if so asked
};

struct BatchCampaignResult {
  uint64_t seed = 0;
  int64_t cases = 0;
  int64_t pairs = 0;  // of batches that were compared, on all tiers
  double seconds = 0;
  std::vector<BatchFailure> failures = {};
};

// Cases are tried in child processes: one that crashes or hangs is a failure
// like any other.
BatchCampaignResult RunBatchCampaign(const BatchCampaignOptions& options);

// Seed, cases, pairs of batches a second, and whether none failed.
std::string Report(const BatchCampaignResult& result);

// The case as text, with what differs and, for a file at `path` with this text,
// how to see it again.
std::string ReproText(const BatchFailure& failure, absl::string_view path);

// The tiers that a campaign compares if none are named: the interpreter,
// machine code of each instruction set, and what the GPU's scheduler makes of
// programs, on the interpreter.
std::vector<std::string> BatchTiers();

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_BATCHES_BATCH_CAMPAIGN_H_
