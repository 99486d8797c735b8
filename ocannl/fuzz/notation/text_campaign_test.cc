// SPDX-License-Identifier: Apache-2.0
//
// Seeded, bounded campaigns. Longer ones:
// bazel run //ocannl -- fuzz --notation --programs=1000000
// bazel run //ocannl -- fuzz --graphs --programs=100000
#include "ocannl/fuzz/notation/text_campaign.h"

#include <iostream>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/notation/random_graph.h"

namespace ocannl::fuzz {
namespace {

TEST(TextCampaignTest, TextsMeanWhatTheySay) {
  TextCampaignResult result = RunTextCampaign(
      {.seed = 1, .texts = 20'000, .seconds = 30, .max_failures = 1});
  std::cout << Report(result);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_GT(result.texts, 100);
  // Enough of them come far, and enough do not.
  EXPECT_GT(result.stages[TextOutcome::kCompared], result.texts / 4);
  EXPECT_GT(result.stages[TextOutcome::kRan], result.texts / 50);
  EXPECT_GT(result.stages[TextOutcome::kNoShapes], result.texts / 50);
  EXPECT_GT(result.stages[TextOutcome::kIllegal], result.texts / 50);
}

// The interpreter, its optimiser, what the schedulers make of programs, and
// machine code. 15 s.
TEST(TextCampaignTest, GraphsHaveTheSameBitsOnEachTier) {
  const auto tiers = FindComparedTiers({"all"});
  ASSERT_TRUE(tiers.ok());
  TextCampaignResult result = RunTextCampaign({.seed = 1,
                                               .texts = 2'000,
                                               .seconds = 12,
                                               .max_failures = 1,
                                               .tiers = *tiers});
  std::cout << Report(result);
  EXPECT_TRUE(result.failures.empty());
  EXPECT_GT(result.texts, 10);
  // What makes graphs knows what fits.
  EXPECT_GT(result.stages[TextOutcome::kCompared], result.texts * 3 / 4);
}

TEST(TextCampaignTest, GraphsHaveEveryOperation) {
  absl::flat_hash_map<absl::string_view, int> counts;
  for (uint64_t seed = 1; seed <= 2'000; ++seed) {
    const RandomText graph = MakeGraph(seed);
    for (const char* part :
         {"reshape(", "part(",    "every_nth(",   "stack(",   "interleave(",
          " ++^ ",    " @| step", " @^^ ",        " @-- ",    " +* ",
          " +++ ",    " @^+ ",    " @-+ ",        "*a<+",     "*a=+",
          "\" : n",   "gather(",  "scatter_add(", "one_hot(", "cumulative_sum(",
          "argmax(",  "argmin(",  "gelu(",        "select(",  "f16(",
          "f8e4m3(",  "u8(",      "normal1()",    "{w1; o=["}) {
      counts[part] += absl::StrContains(graph.text, part) ? 1 : 0;
    }
  }
  for (const auto& [part, count] : counts) EXPECT_GT(count, 10) << part;
}

// Of a graph that is made to fit: those of one that is cut down may be.
TEST(TextCampaignTest, ARefusalOfAGraphIsAFailure) {
  Shape pair;
  pair[RowKind::kOutput] = {2};
  RandomText graph = {
      .text = "",
      .operands = {Shape()},
      .lets = {{"v0", "{w0; o=[2]}", pair, DType::kF32},
               {"v1", "v0 +* \"a; b => c\" v0", pair, DType::kF32}}};
  graph.text = TextOf(graph.lets);
  EXPECT_TRUE(absl::StartsWith(CheckText(graph).error, "it is right, but"));
  graph.lets_fit = false;
  EXPECT_EQ(CheckText(graph).error, "");
}

TEST(TextCampaignTest, TheBuiltInTextsRun) {
  for (const char* text : BuiltInTexts()) {
    TextOutcome outcome = CheckText({.text = text, .operands = {Shape()}});
    EXPECT_EQ(outcome.error, "") << text;
    EXPECT_NE(outcome.stage, TextOutcome::kIllegal) << text;
  }
}

TEST(TextCampaignTest, WhatIsTooLargeIsNoError) {
  const TextOutcome outcome =
      CheckText({.text = "{w = 1; o=[536870912]; i=[7179869184]}",
                 .operands = {Shape()}});
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.stage, TextOutcome::kNoCode);
}

TEST(TextCampaignTest, AWrongMeaningIsAnError) {
  Shape three;
  three[RowKind::kOutput] = {3};
  TextEinsum einsum = {.spec = "i => i", .is_right = true};
  const RandomText right = {
      .text = "x0 ++ \"i => i\"", .operands = {three}, .einsum = einsum};
  EXPECT_EQ(CheckText(right).error, "");
  EXPECT_EQ(CheckText(right).stage, TextOutcome::kCompared);
  RandomText doubled = right;
  doubled.text = "(x0 ++ \"i => i\") + x0";
  EXPECT_NE(CheckText(doubled).error, "");
  RandomText summed = right;
  summed.text = "x0 ++ \"i => 0\"";
  EXPECT_NE(CheckText(summed).error, "");
  RandomText illegal = right;
  illegal.text = "x0 ++ \"ij => i\"";
  EXPECT_NE(CheckText(illegal).error, "");
}

}  // namespace
}  // namespace ocannl::fuzz
