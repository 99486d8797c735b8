// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/stop_signals.h"

#include <csignal>
#include <cstdlib>
#include <optional>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(StopSignalsTest, WhatIsIgnoredStaysSo) {
  const auto ignored = [] {
    std::signal(SIGINT, SIG_IGN);
    StopSignals signals;
    std::raise(SIGINT);
    std::raise(SIGINT);
    std::exit(StopSignals::received());
  };
  EXPECT_EXIT(ignored(), testing::ExitedWithCode(0), "");
}

TEST(StopSignalsTest, TheFirstIsAWish) {
  std::optional<StopSignals> signals(std::in_place);
  EXPECT_EQ(StopSignals::received(), 0);
  std::raise(SIGTERM);
  EXPECT_EQ(StopSignals::received(), SIGTERM);
  std::raise(SIGINT);
  EXPECT_EQ(StopSignals::received(), SIGINT);
  signals.reset();
  EXPECT_EXIT(std::raise(SIGINT), testing::KilledBySignal(SIGINT), "");
}

TEST(StopSignalsTest, EachStartsWithNone) {
  {
    StopSignals signals;
    std::raise(SIGTERM);
  }
  EXPECT_EQ(StopSignals::received(), SIGTERM);
  StopSignals signals;
  EXPECT_EQ(StopSignals::received(), 0);
  std::raise(SIGINT);
  EXPECT_EQ(StopSignals::received(), SIGINT);
}

TEST(StopSignalsTest, TheSecondIsNone) {
  StopSignals signals;
  std::raise(SIGINT);
  EXPECT_EXIT(std::raise(SIGINT), testing::KilledBySignal(SIGINT), "");
}

// The system repeats them, faster than a step may take.
TEST(StopSignalsTest, TheSecondOfTheSystemIsAWishToo) {
  std::optional<StopSignals> signals(std::in_place);
  for (const int number : {SIGHUP, SIGXCPU, SIGXFSZ}) {
    std::raise(number);
    std::raise(number);
    EXPECT_EQ(StopSignals::received(), number);
  }
  signals.reset();
  for (const int number : {SIGHUP, SIGXCPU, SIGXFSZ}) {
    EXPECT_EXIT(std::raise(number), testing::KilledBySignal(number), "");
  }
}

}  // namespace
}  // namespace ocannl
