// SPDX-License-Identifier: Apache-2.0
//
// A seeded, bounded campaign. A longer one:
// bazel run //ocannl -- fuzz --notation --programs=1000000
#include "ocannl/fuzz/notation/text_campaign.h"

#include <iostream>

#include "gtest/gtest.h"

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

TEST(TextCampaignTest, TheBuiltInTextsRun) {
  for (const char* text : BuiltInTexts()) {
    TextOutcome outcome = CheckText({.text = text, .operands = {Shape()}});
    EXPECT_EQ(outcome.error, "") << text;
    EXPECT_NE(outcome.stage, TextOutcome::kIllegal) << text;
  }
}

TEST(TextCampaignTest, WhatIsTooLargeIsNoError) {
  const TextOutcome outcome = CheckText(
      {.text = "{w;o=[536870912];i=[7179869184]}", .operands = {Shape()}});
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
