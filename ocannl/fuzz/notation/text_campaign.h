// SPDX-License-Identifier: Apache-2.0
//
// A campaign over random texts of the notation, generated and mutated, or over
// random graphs on all tiers, and what came of it.
//
//   std::cout << Report(RunTextCampaign({.seed = 1, .texts = 1000000}));
#ifndef OCANNL_FUZZ_NOTATION_TEXT_CAMPAIGN_H_
#define OCANNL_FUZZ_NOTATION_TEXT_CAMPAIGN_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/notation/check_text.h"
#include "ocannl/fuzz/notation/random_text.h"

namespace ocannl::fuzz {

struct TextCampaignOptions {
  uint64_t seed = 1;  // of the first text; the next ones count up
  int64_t texts = 1000;
  double seconds = 1e9;      // no text starts later than this
  int64_t max_failures = 5;  // to stop after
  // Beside the texts that are built in: to be changed byte by byte.
  std::vector<std::string> corpus = {};
  // Instead of such texts: graphs, which these tiers run too.
  std::vector<ComparedTier> tiers = {};
};

struct TextFailure {
  uint64_t seed;
  RandomText text;  // made small
  std::string error;
};

struct TextCampaignResult {
  uint64_t seed = 0;
  int64_t texts = 0;
  double seconds = 0;
  // How far texts came, and of how many the definition left sizes open.
  std::array<int64_t, TextOutcome::kNumStages> stages = {};
  int64_t open = 0;
  std::vector<TextFailure> failures = {};
};

// Texts are tried in child processes, so one that crashes, or hangs for some
// seconds, is a failure like any other.
TextCampaignResult RunTextCampaign(const TextCampaignOptions& options);

// Seed, texts, texts a second, how far they came, and each failure with the
// command that shows it.
std::string Report(const TextCampaignResult& result);

}  // namespace ocannl::fuzz

#endif  // OCANNL_FUZZ_NOTATION_TEXT_CAMPAIGN_H_
