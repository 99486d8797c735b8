// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/file.h"

#include <fstream>
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
