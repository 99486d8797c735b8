// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/child.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"

namespace ocannl::fuzz {
namespace {

using ::testing::HasSubstr;

TEST(ChildTest, ReturnsTheText) {
  std::string text(1'000'000, 'x');
  ChildResult result = RunInChild(10, [&] { return text; });
  EXPECT_FALSE(result.died);
  EXPECT_EQ(result.text, text);
}

TEST(ChildTest, TellsWhatItDiedOf) {
  auto raise = [](int number) {
    return RunInChild(10, [=]() -> std::string {
      std::raise(number);
      return "";
    });
  };
  EXPECT_THAT(raise(SIGSEGV).text, HasSubstr("signal 11"));
  EXPECT_THAT(raise(SIGFPE).text, HasSubstr("signal 8"));
  EXPECT_TRUE(raise(SIGABRT).died);
  EXPECT_EQ(RunInChild(10, []() -> std::string { std::_Exit(3); }).text,
            "exited with 3");
}

TEST(ChildTest, TellsWhatACheckSaid) {
  ChildResult result = RunInChild(10, []() -> std::string {
    CHECK(1 + 1 == 3) << "arithmetic";
    return "";
  });
  EXPECT_THAT(result.text, HasSubstr("signal 6"));
  EXPECT_THAT(result.text, HasSubstr("CHECK failed: 1 + 1 == 3 arithmetic"));
}

TEST(ChildTest, EndsWhatHangs) {
  ChildResult result = RunInChild(1, []() -> std::string {
    while (true) pause();
  });
  EXPECT_TRUE(result.died);
  EXPECT_EQ(result.text, "ran for more than 1 s");
}

}  // namespace
}  // namespace ocannl::fuzz
