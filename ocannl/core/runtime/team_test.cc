// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/team.h"

#include <atomic>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(TeamTest, EveryMemberWorksOnce) {
  for (int size : {1, 2, 3, 8}) {
    Team team(size);
    EXPECT_EQ(team.size(), size);
    std::vector<std::atomic<int>> calls(size);
    for (int round = 1; round <= 100; ++round) {
      ASSERT_TRUE(team.TryRun([&](int member) { ++calls[member]; }));
      for (const auto& count : calls) ASSERT_EQ(count, round);
    }
  }
}

TEST(TeamTest, NobodyPassesWaitBeforeAllAreThere) {
  Team team(3);
  constexpr int kPhases = 200;
  std::vector<std::atomic<int>> arrived(kPhases);
  std::atomic<bool> early = false;
  ASSERT_TRUE(team.TryRun([&](int) {
    for (std::atomic<int>& count : arrived) {
      ++count;
      team.Wait();
      if (count != team.size()) early = true;
    }
  }));
  EXPECT_FALSE(early);
}

TEST(TeamTest, IsBusyWhileItWorks) {
  Team team(2);
  bool inner = true;
  ASSERT_TRUE(team.TryRun([&](int member) {
    if (member == 0) inner = team.TryRun([](int) {});
  }));
  EXPECT_FALSE(inner);
}

TEST(TeamTest, SizesFitTheMachine) { EXPECT_GE(Team::MaxSize(), 1); }

}  // namespace
}  // namespace ocannl
