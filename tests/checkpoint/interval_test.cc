// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/checkpoint/interval.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using train::CheckpointInterval;

// The steps at which it is due, of those after which the clock stands there.
std::vector<int64_t> DueAt(const std::string& text,
                           const std::vector<double>& times) {
  double now = 1000;
  auto interval = CheckpointInterval::Parse(text, [&] { return now; });
  CHECK_OK(interval);
  std::vector<int64_t> due;
  for (size_t k = 0; k < times.size(); ++k) {
    now = 1000 + times[k];
    const auto steps = static_cast<int64_t>(k) + 1;
    if (interval->IsDue(steps)) due.push_back(steps);
  }
  return due;
}

TEST(CheckpointIntervalTest, BySteps) {
  EXPECT_THAT(DueAt("3", {0, 0, 0, 900, 900, 900, 900}), ElementsAre(3, 6));
  EXPECT_THAT(DueAt("1", {0, 0}), ElementsAre(1, 2));
}

TEST(CheckpointIntervalTest, ByTime) {
  // A slow step does not make the next one due sooner.
  EXPECT_THAT(DueAt("30s", {29, 30, 59, 75, 100, 104.5, 105}),
              ElementsAre(2, 4, 7));
  EXPECT_THAT(DueAt("1m30s", {89, 90}), ElementsAre(2));
  EXPECT_THAT(DueAt("0.5h", {1799, 1800}), ElementsAre(2));
}

TEST(CheckpointIntervalTest, TheClockOfTheMachine) {
  auto interval = CheckpointInterval::Parse("1h");
  CHECK_OK(interval);
  EXPECT_FALSE(interval->IsDue(1));
  interval = CheckpointInterval::Parse("1ns");
  CHECK_OK(interval);
  const double start = train::SteadySeconds();
  while (train::SteadySeconds() < start + 1e-6) continue;
  EXPECT_TRUE(interval->IsDue(1));
}

TEST(CheckpointIntervalTest, Errors) {
  for (const char* text :
       {"", "0", "-5", "0s", "-3m", "inf", "-inf", "30 s", "ten", "1e3"}) {
    EXPECT_THAT(std::string(CheckpointInterval::Parse(text).status().message()),
                testing::HasSubstr("is neither a number of steps"))
        << text;
  }
}

}  // namespace
}  // namespace ocannl
