// SPDX-License-Identifier: Apache-2.0
//
// Results too large for the caches, which machine code stores around them: the
// interpreter's bits, wherever the arrays begin.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/jit/assemble.h"
#include "ocannl/jit/x86_backend.h"
#include "tests/support/must_parse.h"

namespace ocannl::fuzz {
namespace {

LoopProgram Map(const std::string& role_of_y, const std::string& value,
                int count) {
  return MustParse(
      absl::StrCat("p (): in x : f32[", count, "]; ", role_of_y, " y : f32[",
                   count, "]; out z : f32[1]; for i0 = 0 to ", count - 1,
                   " { y[i0] := ", value, "; } z[0] := y[", count - 1, "];"));
}

void ExpectSameBits(const LoopProgram& program) {
  // Its arrays begin at a page, or end at one.
  const Trial trial(program, FillKind::kUnit, /*seed=*/1);
  int compared = 0;
  for (const ComparedTier& tier : ComparedTiers()) {
    if (!tier.available || !absl::StartsWith(tier.name, "x86")) continue;
    EXPECT_EQ(trial.Try(*tier.backend()), "") << tier.name;
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "needs AVX2: nothing is compared";
}

bool Streams(const LoopProgram& program, jit::Isa isa) {
  LoopProgram scheduled = Schedule(program, jit::TargetOf(isa));
  return absl::StrContains(*jit::Listing(std::move(scheduled), isa),
                           "vmovntps");
}

constexpr int kLarge = (8 << 20) + 1;  // cells: more than 32 MiB, and a tail

TEST(LargeMapsTest, ResultsGoAroundTheCaches) {
  const LoopProgram program = Map("out", "relu(x[i0]) * 0.3", kLarge);
  EXPECT_TRUE(Streams(program, jit::Isa::kAvx2));
  EXPECT_TRUE(Streams(program, jit::Isa::kAvx512));
  ExpectSameBits(program);
}

TEST(LargeMapsTest, WhatIsReadOrSmallDoesNot) {
  const LoopProgram in_place = Map("inout", "x[i0] - y[i0]", kLarge);
  EXPECT_FALSE(Streams(in_place, jit::Isa::kAvx512));
  ExpectSameBits(in_place);
  EXPECT_FALSE(Streams(Map("out", "x[i0] * 2", 1000), jit::Isa::kAvx512));
}

}  // namespace
}  // namespace ocannl::fuzz
