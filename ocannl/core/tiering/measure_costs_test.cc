// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/measure_costs.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

TEST(MeasureCostsTest, AreKeptForEachMachine) {
  const std::string directory = testing::TempDir() + "/costs";
  int measured = 0;
  auto find = [&](const std::string& where, const std::string& machine) {
    auto found = KeptCosts(where, machine, [&] {
      return MigrationCosts{.copy_seconds = 0.1 + ++measured};
    });
    EXPECT_TRUE(found.ok()) << found.status();
    return *found;
  };
  EXPECT_EQ(find(directory, "a").costs.copy_seconds, 1.1);
  EXPECT_EQ(find(directory, "b").note,
            "costs of b were measured, as " + directory +
                " had no valid ones, and are kept there");
  EXPECT_EQ(find(directory, "a").costs.copy_seconds, 1.1);
  EXPECT_EQ(find(directory, "b").costs.copy_seconds, 2.1);
  EXPECT_EQ(find(directory, "b").note, "costs of b are from " + directory);
  EXPECT_EQ(measured, 2);
  // A damaged file, or somebody else's, is measured anew.
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (file.path().extension() != ".ocannl") continue;
    std::ofstream(file.path(), std::ios::app) << "x";
  }
  EXPECT_THAT(find(directory, "a").note, HasSubstr("were measured"));
  EXPECT_EQ(find(directory, "a").costs.copy_seconds, 3.1);
  // Without a directory, too.
  EXPECT_THAT(find("", "a").note, HasSubstr("not kept: no directory, as HOME"));
  EXPECT_THAT(find("/proc/self", "a").note, HasSubstr("not kept: "));
  EXPECT_EQ(
      KeptCosts("", "a", [] { return absl::InternalError("lost"); }).status(),
      absl::InternalError("lost"));
}

TEST(MeasureCostsTest, TheUsersOwnDirectory) {
  setenv("HOME", "/home/me", 1);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(UserCacheDirectory(), "/home/me/.cache/ocannl");
  setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(UserCacheDirectory(), "/home/me/.cache/ocannl");
  setenv("XDG_CACHE_HOME", "/var/mine", 1);
  EXPECT_EQ(UserCacheDirectory(), "/var/mine/ocannl");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(UserCacheDirectory(), "");
}

}  // namespace
}  // namespace ocannl
