// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/threads/team.h"

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/runtime/threads/worker.h"

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

TEST(TeamTest, WorkersAreMembers) {
  Worker first, second;
  std::thread::id of_first, of_second;
  first.Submit([&] { of_first = std::this_thread::get_id(); });
  second.Submit([&] { of_second = std::this_thread::get_id(); });
  std::vector<std::thread::id> members(3);
  for (int round = 0; round < 100; ++round) {
    Team team({&first, &second});
    ASSERT_EQ(team.size(), 3);
    ASSERT_TRUE(team.TryRun([&](int member) {
      members[member] = std::this_thread::get_id();
      team.Wait();
    }));
  }
  EXPECT_EQ(members,
            std::vector({std::this_thread::get_id(), of_first, of_second}));
}

TEST(TeamTest, ScopeIsOfOneThread) {
  Team outer(1), inner(1);
  EXPECT_EQ(Team::Current(), nullptr);
  {
    const Team::Scope scope(&outer);
    Team* elsewhere = &outer;
    std::thread([&] { elsewhere = Team::Current(); }).join();
    EXPECT_EQ(elsewhere, nullptr);
    {
      const Team::Scope inside(&inner);
      EXPECT_EQ(Team::Current(), &inner);
    }
    const Team::Scope none(nullptr);
    EXPECT_EQ(Team::Current(), &outer);
  }
  EXPECT_EQ(Team::Current(), nullptr);
}

TEST(TeamTest, IsBusyWhileItWorks) {
  Team team(2);
  bool inner = true;
  ASSERT_TRUE(team.TryRun([&](int member) {
    if (member == 0) inner = team.TryRun([](int) {});
  }));
  EXPECT_FALSE(inner);
}

TEST(TeamTest, NobodyIsCalledWhileAnotherThreadRunsPrograms) {
  Team team(2);
  bool own = false;
  bool others = true;
  {
    Team::SideBySide share;
    own = team.TryRun([](int) {});
    std::thread([&] { others = team.TryRun([](int) {}); }).join();
  }
  EXPECT_TRUE(own);
  EXPECT_FALSE(others);
  EXPECT_TRUE(team.TryRun([](int) {}));
}

TEST(TeamTest, WhatAMemberThrowsReachesTheCaller) {
  for (int thrower : {0, 2}) {
    Team team(3);
    std::atomic<int> others = 0;
    auto work = [&](int member) {
      if (member == thrower) throw std::bad_alloc();
      ++others;
    };
    EXPECT_THROW(team.TryRun(work), std::bad_alloc);
    EXPECT_EQ(others, 2);
    EXPECT_TRUE(team.TryRun([](int) {}));
  }
}

// As at a limit of threads: no thread gets so large a stack.
TEST(TeamTest, WithoutThreadsTheCallerWorksAlone) {
  pthread_attr_t before;
  ASSERT_EQ(pthread_getattr_default_np(&before), 0);
  pthread_attr_t large;
  ASSERT_EQ(pthread_attr_init(&large), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&large, size_t{1} << 47), 0);
  ASSERT_EQ(pthread_setattr_default_np(&large), 0);
  Team team(4);
  ASSERT_EQ(pthread_setattr_default_np(&before), 0);
  EXPECT_EQ(team.size(), 1);
  int calls = 0;
  EXPECT_TRUE(team.TryRun([&](int) {
    ++calls;
    team.Wait();
  }));
  EXPECT_EQ(calls, 1);
}

TEST(TeamTest, SizesFitTheMachine) { EXPECT_GE(Team::MaxSize(), 1); }

}  // namespace
}  // namespace ocannl
