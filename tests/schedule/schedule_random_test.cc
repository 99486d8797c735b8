// SPDX-License-Identifier: Apache-2.0
//
// Random programs, scheduled and compiled: the bits of the program as it
// stands. All of their loops are plain, so that the scheduler may take any of
// them apart; those of a campaign (ocannl/fuzz) have kinds of their own.
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/cpu/decisions.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/programs/generate.h"
#include "ocannl/fuzz/trial.h"

namespace ocannl::fuzz {
namespace {

// Layers, two in four other whole computations, and free forms.
Policies PoliciesFor(uint64_t seed) {
  Policies policies;
  if (seed % 4 == 0) policies.Add(Policy::kLayers);
  if (seed % 4 < 3) policies.Add(Policy::kStructured);
  policies.Add(Policy::kInPlace);
  if (seed % 3 > 0) policies.Add(Policy::kPermuted);
  if (seed % 5 == 0) policies.Add(Policy::kBigStrides);
  return policies;
}

TEST(ScheduleRandomTest, ProgramsKeepTheirBits) {
  constexpr int kPrograms = 400;
  int contractions = 0;
  for (uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const LoopProgram program = Generate(seed, PoliciesFor(seed));
    for (const auto& [name, target] : kComparedTargets) {
      const std::string text = Print(Schedule(program, target));
      absl::StatusOr<LoopProgram> again = Parse(text);
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << text;
      ASSERT_EQ(Print(*again), text);
      contractions +=
          DecisionsOf(program, target).Has(Decision::kContract) ? 1 : 0;
    }
    Trial trial(program, KindOf(seed), seed);
    for (const ComparedTier& tier : ComparedTiers()) {
      if (!tier.available || tier.name == "tree") continue;
      ASSERT_EQ(trial.Try(*tier.backend()), "") << tier.name << "\n"
                                                << Print(program);
    }
  }
  std::printf("%d programs (seeds from 0), %d of %d schedules tile\n",
              kPrograms, contractions,
              kPrograms * static_cast<int>(std::size(kComparedTargets)));
  EXPECT_GT(contractions, kPrograms);
}

}  // namespace
}  // namespace ocannl::fuzz
