// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/file.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

TEST(WriteFileTest, ReplacesTheFile) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/plot.svg");
  ASSERT_TRUE(WriteFile(path, "a longer text").ok());
  ASSERT_TRUE(WriteFile(path, std::string("a\0b", 3)).ok());
  std::ostringstream contents;
  contents << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(contents.str(), std::string("a\0b", 3));
}

TEST(WriteFileTest, NamesPathAndReason) {
  const absl::Status status = WriteFile("/nowhere/plot.svg", "");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot open /nowhere/plot.svg: No such file"));
}

TEST(WriteFileTest, NoticesAFullDisk) {
  const absl::Status status = WriteFile("/dev/full", "text");
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("cannot write /dev/full: No space left"));
}

TEST(ReplaceFileTest, TheFileIsTheOldOneOrTheNewOne) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/replaced");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(MakeDirectory(folder).ok());
  const std::string path = folder + "/state";
  for (const Survives survives : {Survives::kKill, Survives::kPowerLoss}) {
    ASSERT_TRUE(WriteFile(path, "old").ok());
    auto replace = [&](const absl::Status& end) {
      return ReplaceFile(path, survives, [&](const std::string& other) {
        EXPECT_EQ(*ReadFile(other), "");
        EXPECT_TRUE(WriteFile(other, "new").ok());
        EXPECT_EQ(*ReadFile(path), "old");
        return end;
      });
    };
    EXPECT_EQ(replace(absl::DataLossError("!")), absl::DataLossError("!"));
    EXPECT_EQ(*ReadFile(path), "old");
    EXPECT_EQ(replace(absl::OkStatus()), absl::OkStatus());
    EXPECT_EQ(*ReadFile(path), "new");
  }
  const std::filesystem::directory_iterator left(folder);
  EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

TEST(ReplaceFileTest, NamesPathAndReason) {
  auto write = [](const std::string&) { return absl::OkStatus(); };
  auto message = [&](const std::string& path) {
    return std::string(
        ReplaceFile(path, Survives::kPowerLoss, write).message());
  };
  EXPECT_EQ(message("/nowhere/state"),
            "cannot write /nowhere/state: No such file or directory");
  const std::string folder = absl::StrCat(::testing::TempDir(), "/a_folder");
  ASSERT_TRUE(MakeDirectory(folder).ok());
  EXPECT_EQ(message(folder),
            absl::StrCat("cannot write ", folder, ": Is a directory"));
}

TEST(CheckOrdinaryFileTest, NamesWhatIsNone) {
  EXPECT_TRUE(CheckOrdinaryFile("/proc/self/exe", "a text").ok());
  EXPECT_EQ(CheckOrdinaryFile("/dev/zero", "a text").message(),
            "`/dev/zero`: not an ordinary file; give the path of a text");
  EXPECT_EQ(CheckOrdinaryFile("/nowhere", "a text").message(),
            "`/nowhere`: No such file or directory; give the path of a text");
}

TEST(ReadFileTest, GivesWhatWasWritten) {
  const std::string path = testing::TempDir() + "/read_file_test";
  const std::string bytes = std::string(100'000, 'x') + std::string("a\0b", 3);
  ASSERT_TRUE(WriteFile(path, bytes).ok());
  EXPECT_EQ(*ReadFile(path), bytes);
  EXPECT_THAT(std::string(ReadFile("/nowhere/x").status().message()),
              HasSubstr("cannot open /nowhere/x"));
  EXPECT_FALSE(ReadFile("/").ok());
}

}  // namespace
}  // namespace ocannl
