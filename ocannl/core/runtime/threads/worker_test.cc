// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/threads/worker.h"

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/runtime/threads/team.h"

namespace ocannl {
namespace {

TEST(WorkerTest, DoesAllInOrder) {
  std::vector<int> seen;
  {
    Worker worker;
    for (int k = 0; k < 5000; ++k) {  // more than the ring holds
      worker.Submit([&seen, k] { seen.push_back(k); });
    }
  }
  ASSERT_EQ(seen.size(), 5000u);
  for (int k = 0; k < 5000; ++k) EXPECT_EQ(seen[k], k);
}

TEST(WorkerTest, EventsArePointsOfAQueue) {
  Worker worker;
  std::atomic<bool> may_go = false;
  worker.Submit([&] {
    while (!may_go) std::this_thread::yield();
  });
  const Event held = worker.Record();
  EXPECT_FALSE(held.IsDone());
  EXPECT_TRUE(Event().IsDone());
  may_go = true;
  held.Wait();
  EXPECT_TRUE(held.IsDone());
}

// Each waits for the other in turn.
TEST(WorkerTest, TwoTakeTurns) {
  Worker a, b;
  std::vector<int> seen;
  Event last;
  for (int k = 0; k < 100; ++k) {
    Worker& next = k % 2 == 0 ? a : b;
    next.Submit([last] { last.Wait(); });
    next.Submit([&seen, k] { seen.push_back(k); });
    last = next.Record();
  }
  last.Wait();
  for (int k = 0; k < 100; ++k) EXPECT_EQ(seen[k], k);
}

TEST(WorkerTest, IdleTasksRunWhenThereIsNothingElse) {
  Worker worker;
  int tasks = 0;
  std::atomic<bool> may_go = false;
  worker.Submit([&] {
    worker.WhenIdle(&tasks, [&] { ++tasks; });
    while (!may_go) std::this_thread::yield();
  });
  int tasks_before = -1;
  worker.Submit([&] { tasks_before = tasks; });
  may_go = true;
  worker.Drain();
  EXPECT_EQ(tasks_before, 0);
  std::atomic<int> seen = 0;
  while (seen == 0) {  // it is idle sooner or later
    worker.Submit([&] { seen = tasks; });
    worker.Drain();
  }
  EXPECT_EQ(seen, 1);
  int forgotten = 0;
  worker.Submit([&] {
    worker.WhenIdle(&forgotten, [&] { ++forgotten; });
    worker.Forget(&forgotten);
  });
  worker.Drain();
  EXPECT_EQ(forgotten, 0);
}

// No team may take the processor of a worker that is about to wake.
TEST(WorkerTest, IsAtWorkOnceItHasWork) {
  Team team(2);
  Worker worker;
  const auto nothing = [](int) {};
  while (!team.TryRun(nothing)) std::this_thread::yield();  // until it parks
  std::atomic<bool> may_go = false;
  worker.Submit([&] {
    while (!may_go) std::this_thread::yield();
  });
  EXPECT_FALSE(team.TryRun(nothing));
  may_go = true;
  while (!team.TryRun(nothing)) std::this_thread::yield();
}

TEST(WorkerTest, DrainThrowsWhatACommandThrew) {
  Worker worker;
  bool goes_on = false;
  worker.Submit([] { throw std::bad_alloc(); });
  worker.Submit([&] { goes_on = true; });
  EXPECT_THROW(worker.Drain(), std::bad_alloc);
  EXPECT_TRUE(goes_on);
  worker.Drain();
}

}  // namespace
}  // namespace ocannl
