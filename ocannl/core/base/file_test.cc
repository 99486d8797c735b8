// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

// Who waits for a reader of a pipe may wait for ever.
TEST(WriteFileTest, WhatIsNoFileIsRefused) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/pipe");
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(WriteFile(path, "text").message(),
            absl::StrCat("cannot write ", path,
                         ": it is a pipe, and must be an ordinary file"));
  EXPECT_THAT(std::string(WriteFile(::testing::TempDir(), "text").message()),
              HasSubstr("it is a directory, and must be an ordinary file"));
  EXPECT_THAT(std::string(WriteFile("/dev/zero", "text").message()),
              HasSubstr("it is a device, and must be an ordinary file"));
  EXPECT_TRUE(WriteFile("/dev/null", "text").ok());
}

TEST(WriteFileInTest, DoesNotFollowLinks) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/planted");
  const std::string victim = absl::StrCat(::testing::TempDir(), "/victim");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(MakeDirectory(folder).ok());
  ASSERT_TRUE(WriteFile(victim, "precious").ok());
  std::filesystem::create_symlink(victim, folder + "/file");
  std::filesystem::create_symlink("made", folder + "/dangling");
  std::filesystem::create_symlink("loop", folder + "/loop");
  for (const std::string name : {"file", "dangling", "loop"}) {
    EXPECT_THAT(std::string(WriteFileIn(folder, name, "text").message()),
                HasSubstr(absl::StrCat("cannot write ", folder, "/", name,
                                       ": it is a symbolic link")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder + "/made"));
  EXPECT_EQ(*ReadFile(victim), "precious");
  EXPECT_THAT(std::string(WriteFileIn(folder, "../victim", "x").message()),
              HasSubstr("the name has a slash"));
  EXPECT_FALSE(WriteFileIn(folder, "..", "x").ok());
  ASSERT_TRUE(WriteFileIn(folder, "new", "a longer text").ok());
  ASSERT_TRUE(WriteFileIn(folder, "new", "text").ok());
  EXPECT_EQ(*ReadFile(folder + "/new"), "text");
  // The directory itself is the one that the user has named.
  const std::string other = folder + "_too";
  std::filesystem::remove(other);
  std::filesystem::create_symlink(folder, other);
  ASSERT_TRUE(WriteFileIn(other, "new", "again").ok());
  EXPECT_EQ(*ReadFile(folder + "/new"), "again");
}

int64_t FilesIn(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return std::distance(begin(files), end(files));
}

TEST(ReplaceFileTest, BeyondTheLimitOfFilesNothingIsLeft) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/limited");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(MakeDirectory(folder).ok());
  const std::string path = folder + "/state";
  ASSERT_TRUE(WriteFile(path, "old").ok());
  const auto replace = [&] {
    const rlimit limit = {.rlim_cur = 1000, .rlim_max = RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
    const absl::Status status = ReplaceFile(path, [](const std::string& other) {
      return WriteFile(other, std::string(10'000, 'x'));
    });
    std::fprintf(stderr, "%s", std::string(status.message()).c_str());
    std::exit(status.ok() ? 0 : 7);
  };
  EXPECT_EXIT(replace(), ::testing::ExitedWithCode(7), "File too large");
  EXPECT_EQ(FilesIn(folder), 1);
  EXPECT_EQ(*ReadFile(path), "old");
}

TEST(ReplaceFileTest, TheFileIsTheOldOneOrTheNewOne) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/replaced");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(MakeDirectory(folder).ok());
  const std::string path = folder + "/state";
  ASSERT_TRUE(WriteFile(path, "old").ok());
  auto replace = [&](const absl::Status& end) {
    return ReplaceFile(path, [&](const std::string& other) {
      EXPECT_TRUE(WriteFile(other, "new").ok());
      EXPECT_EQ(*ReadFile(path), "old");
      return end;
    });
  };
  EXPECT_EQ(replace(absl::DataLossError("!")), absl::DataLossError("!"));
  EXPECT_EQ(*ReadFile(path), "old");
  EXPECT_EQ(replace(absl::OkStatus()), absl::OkStatus());
  EXPECT_EQ(*ReadFile(path), "new");
  EXPECT_EQ(FilesIn(folder), 1);
}

// Whoever is writing keeps what he has; who was killed does not.
TEST(ReplaceFileTest, LeftoversAreDeletedByTheNext) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/leftovers");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(MakeDirectory(folder).ok());
  const std::string path = folder + "/state";
  auto die = [&] {
    (void)ReplaceFile(path, [](const std::string& other) {
      EXPECT_TRUE(WriteFile(other, "half").ok());
      std::raise(SIGKILL);
      return absl::OkStatus();
    });
  };
  ASSERT_EXIT(die(), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(FilesIn(folder), 1);
  auto write = [&](const std::string& other) {
    EXPECT_EQ(FilesIn(folder), 1);
    const absl::Status inner = ReplaceFile(path, [](const std::string& second) {
      return WriteFile(second, "inner");
    });
    EXPECT_EQ(inner, absl::OkStatus());
    return WriteFile(other, "outer");
  };
  EXPECT_EQ(ReplaceFile(path, write), absl::OkStatus());
  EXPECT_EQ(*ReadFile(path), "outer");
  EXPECT_EQ(FilesIn(folder), 1);
}

// Only what we made is deleted, whatever names others give.
TEST(ReplaceFileTest, WhatOthersMadeStays) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/foreign");
  std::filesystem::remove_all(folder);
  const std::string path = folder + "/m.npz";
  const std::string left = folder + "/.m.npz.ocannl-abcdef";
  for (const std::string& other : {path + ".new-backup", left}) {
    ASSERT_TRUE(MakeDirectory(other + "/inner").ok());
    ASSERT_TRUE(WriteFile(other + "/inner/kept", "kept").ok());
    ASSERT_TRUE(WriteFile(other + "/m.npz", "half").ok());
    ASSERT_TRUE(WriteFile(other + "/m.npz.abc123", "half").ok());
  }
  EXPECT_EQ(
      ReplaceFile(path,
                  [](const auto& other) { return WriteFile(other, "new"); }),
      absl::OkStatus());
  EXPECT_EQ(*ReadFile(path), "new");
  EXPECT_EQ(*ReadFile(path + ".new-backup/m.npz"), "half");
  EXPECT_EQ(*ReadFile(path + ".new-backup/inner/kept"), "kept");
  EXPECT_EQ(*ReadFile(left + "/inner/kept"), "kept");
  EXPECT_FALSE(ReadFile(left + "/m.npz").ok());
  EXPECT_FALSE(ReadFile(left + "/m.npz.abc123").ok());
  EXPECT_EQ(FilesIn(folder), 3);
}

TEST(CheckReplaceableTest, TellsWhatReplaceFileWould) {
  const std::string folder = absl::StrCat(::testing::TempDir(), "/a_place");
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(MakeDirectory(folder).ok());
  const std::string path = folder + "/state";
  EXPECT_EQ(CheckReplaceable(path), absl::OkStatus());
  EXPECT_EQ(FilesIn(folder), 0);
  EXPECT_EQ(CheckReplaceable("/nowhere/state").message(),
            "cannot write /nowhere/state: No such file or directory");
  EXPECT_EQ(CheckReplaceable(folder).message(),
            absl::StrCat("cannot write ", folder,
                         ": it is a directory; give another path"));
  EXPECT_EQ(CheckReplaceable("/dev/null").message(),
            "cannot write /dev/null: it is a device; give another path");
  // Not even root may write there.
  EXPECT_THAT(std::string(CheckReplaceable("/proc/self/state").message()),
              HasSubstr("cannot write /proc/self/state: "));
}

TEST(ReplaceFileTest, NamesPathAndReason) {
  auto write = [](const std::string& other) { return WriteFile(other, ""); };
  auto message = [&](const std::string& path) {
    return std::string(ReplaceFile(path, write).message());
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
}

// Names what it is, without waiting for somebody to write, or for an end.
TEST(ReadFileTest, ReadsOrdinaryFiles) {
  auto message = [](const std::string& path) {
    return std::string(ReadFile(path).status().message());
  };
  const std::string end = "; give the path of an ordinary file";
  EXPECT_EQ(message("/"), "cannot read /: it is a directory" + end);
  EXPECT_EQ(message("/dev/zero"),
            "cannot read /dev/zero: it is a device" + end);
  const std::string pipe = testing::TempDir() + "/read_file_pipe";
  unlink(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(message(pipe),
            absl::StrCat("cannot read ", pipe, ": it is a pipe", end));
}

TEST(ReadFileTest, ReadsPipesThatAreOpen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "text", 4), 4);
  ASSERT_EQ(close(ends[1]), 0);
  EXPECT_EQ(*ReadText(absl::StrCat("/dev/fd/", ends[0])), "text");
  ASSERT_EQ(close(ends[0]), 0);
}

TEST(ReadTextTest, IsBounded) {
  const std::string path = testing::TempDir() + "/read_text";
  ASSERT_TRUE(WriteFile(path, std::string(kMostTextBytes, ' ')).ok());
  EXPECT_EQ(ReadText(path)->size(), kMostTextBytes);
  ASSERT_EQ(truncate(path.c_str(), int64_t{1} << 40), 0);
  EXPECT_EQ(
      ReadText(path).status().message(),
      absl::StrCat("cannot read ", path, ": it has more than 16777216 bytes"));
}

}  // namespace
}  // namespace ocannl
