// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/system/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMostBytes = int64_t{1} << 20;

// A name that no other test has, where nothing is.
std::string NewDirectory() {
  const std::string path =
      testing::TempDir() + "disk_cache_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(path);
  return path;
}

// Of values.
std::string OnlyFile(const std::string& directory) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().filename() == "secret") continue;
    EXPECT_EQ(found, "");
    found = entry.path();
  }
  return found;
}

TEST(DiskCacheTest, ValuesOutliveIt) {
  const std::string directory = NewDirectory();
  const std::string value("a\0b", 3);
  {
    auto cache = DiskCache::Open(directory, kMostBytes);
    ASSERT_TRUE(cache.ok()) << cache.status();
    EXPECT_EQ((*cache)->Find("key"), std::nullopt);
    ASSERT_TRUE((*cache)->Insert("key", "an older value").ok());
    ASSERT_TRUE((*cache)->Insert("key", value).ok());
    OnlyFile(directory);
  }
  auto cache = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_EQ((*cache)->Find("key"), value);
  EXPECT_EQ((*cache)->Find("ke"), std::nullopt);
}

TEST(DiskCacheTest, DamagedFilesHoldNothing) {
  const std::string directory = NewDirectory();
  auto cache = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_TRUE((*cache)->Insert("key", "value").ok());
  const std::string path = OnlyFile(directory);
  const std::string file = *ReadFile(path);
  for (size_t k = 0; k < file.size(); ++k) {
    ASSERT_TRUE(WriteFile(path, file.substr(0, k)).ok());
    EXPECT_EQ((*cache)->Find("key"), std::nullopt) << "cut at " << k;
    std::string other = file;
    other[k] ^= 1;
    ASSERT_TRUE(WriteFile(path, other).ok());
    EXPECT_EQ((*cache)->Find("key"), std::nullopt) << "changed at " << k;
  }
  ASSERT_TRUE(WriteFile(path, file).ok());
  EXPECT_EQ((*cache)->Find("key"), "value");
}

// Two keys may have one hash: the file says whose value it is.
TEST(DiskCacheTest, AnotherKeysFileHoldsNothing) {
  const std::string directory = NewDirectory();
  auto cache = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_TRUE((*cache)->Insert("one", "1").ok());
  const std::string one = OnlyFile(directory);
  const std::string bytes = *ReadFile(one);
  std::filesystem::remove(one);
  ASSERT_TRUE((*cache)->Insert("two", "2").ok());
  ASSERT_TRUE(WriteFile(OnlyFile(directory), bytes).ok());
  EXPECT_EQ((*cache)->Find("two"), std::nullopt);
}

TEST(DiskCacheTest, OthersMayNotWrite) {
  const std::string directory = NewDirectory();
  ASSERT_TRUE(DiskCache::Open(directory, kMostBytes).ok());
  ASSERT_EQ(chmod(directory.c_str(), 0770), 0);
  absl::Status status = DiskCache::Open(directory, kMostBytes).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("others may write to " + directory));
}

TEST(DiskCacheTest, OthersMayNotReplaceIt) {
  const std::string above = NewDirectory();
  const std::string directory = above + "/cache";
  ASSERT_TRUE(DiskCache::Open(directory, kMostBytes).ok());
  ASSERT_EQ(chmod(above.c_str(), 0777), 0);
  EXPECT_THAT(
      std::string(DiskCache::Open(directory, kMostBytes).status().message()),
      HasSubstr("others may replace " + directory));
  ASSERT_EQ(chmod(above.c_str(), 01777), 0);  // as /tmp
  EXPECT_TRUE(DiskCache::Open(directory, kMostBytes).ok());
}

TEST(DiskCacheTest, TheSecretIsOurs) {
  const std::string directory = NewDirectory();
  ASSERT_TRUE(DiskCache::Open(directory, kMostBytes).ok());
  const std::string secret = directory + "/secret";
  struct stat stat = {};
  ASSERT_EQ(lstat(secret.c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode, mode_t{S_IFREG | 0600});
  const std::string bytes = *ReadFile(secret);
  EXPECT_EQ(bytes.size(), 32u);
  EXPECT_EQ(OnlyFile(directory), "");
  ASSERT_EQ(chmod(secret.c_str(), 0640), 0);
  EXPECT_THAT(
      std::string(DiskCache::Open(directory, kMostBytes).status().message()),
      HasSubstr("is no file that only you may read; delete it, or"));
  std::filesystem::rename(secret, directory + "/other");
  std::filesystem::create_symlink("other", secret);
  EXPECT_FALSE(DiskCache::Open(directory, kMostBytes).ok());
}

// A loss of power may have kept the name alone.
TEST(DiskCacheTest, ASecretOfAnotherSizeIsReplaced) {
  const std::string directory = NewDirectory();
  const std::string secret = directory + "/secret";
  ASSERT_TRUE(DiskCache::Open(directory, kMostBytes).ok());
  for (const std::string& bytes : {std::string(), std::string("cut")}) {
    ASSERT_TRUE(WriteFile(secret, bytes).ok());
    auto cache = DiskCache::Open(directory, kMostBytes);
    ASSERT_TRUE(cache.ok()) << cache.status();
    EXPECT_EQ(ReadFile(secret)->size(), 32u);
    ASSERT_TRUE((*cache)->Insert("key", "value").ok());
    auto again = DiskCache::Open(directory, kMostBytes);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->Find("key"), "value");
  }
  // What was in it may be somebody's.
  int cut = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename();
    if (name.rfind("secret-", 0) == 0) cut += *ReadFile(entry.path()) == "cut";
  }
  EXPECT_EQ(cut, 1);
  ASSERT_TRUE(WriteFile(secret, "a password").ok());
  ASSERT_TRUE(WriteFile(directory + "/thesis.txt", "text").ok());
  EXPECT_THAT(
      std::string(DiskCache::Open(directory, kMostBytes).status().message()),
      HasSubstr("has other files in it, such as thesis.txt"));
  EXPECT_EQ(*ReadFile(secret), "a password");
}

TEST(DiskCacheTest, DirectoriesAboveAreForTheUserAlone) {
  const std::string above = NewDirectory();
  const mode_t mask = umask(0002);
  const absl::Status status =
      DiskCache::Open(above + "/a/b/", kMostBytes).status();
  umask(mask);
  EXPECT_TRUE(status.ok()) << status;
  struct stat stat = {};
  ASSERT_EQ(lstat((above + "/a").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode, mode_t{S_IFDIR | 0700});
}

// Also what was made with another secret is not ours.
TEST(DiskCacheTest, FindsOnlyWhatWeWrote) {
  const std::string directory = NewDirectory();
  auto cache = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_TRUE((*cache)->Insert("key", "value").ok());
  const std::string path = OnlyFile(directory);
  struct stat stat = {};
  ASSERT_EQ(lstat(path.c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode, mode_t{S_IFREG | 0600});
  ASSERT_EQ(chmod(path.c_str(), 0620), 0);
  EXPECT_EQ((*cache)->Find("key"), std::nullopt);
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_EQ((*cache)->Find("key"), "value");
  const std::string elsewhere = directory + ".elsewhere";
  std::filesystem::rename(path, elsewhere);
  std::filesystem::create_symlink(elsewhere, path);
  EXPECT_EQ((*cache)->Find("key"), std::nullopt);
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ((*cache)->Find("key"), std::nullopt);
  std::filesystem::rename(elsewhere, path);
  EXPECT_EQ((*cache)->Find("key"), "value");
  std::filesystem::remove(directory + "/secret");
  auto other = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE((*other)->Insert("key", "other").ok());
  EXPECT_EQ((*cache)->Find("key"), "value");
  EXPECT_EQ((*other)->Find("key"), "other");
}

TEST(DiskCacheTest, TheOldestMakesRoom) {
  const std::string directory = NewDirectory();
  auto cache = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE(cache.ok()) << cache.status();
  const std::string value(kMostBytes / 16, 'x');
  for (int k = 0; k < 100; ++k) {
    ASSERT_TRUE((*cache)->Insert(absl::StrCat(k), value).ok());
    // Ages differ by less than clocks of files can tell.
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      const auto age = entry.last_write_time() - std::chrono::seconds(1);
      std::filesystem::last_write_time(entry, age);
    }
    int64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      bytes += static_cast<int64_t>(entry.file_size());
    }
    ASSERT_LE(bytes, kMostBytes + kMostBytes / 8);
    EXPECT_EQ((*cache)->Find("0"), value) << k;  // It is used all the time.
  }
  EXPECT_EQ((*cache)->Find("1"), std::nullopt);
  EXPECT_EQ((*cache)->Find("99"), value);
  EXPECT_THAT(
      std::string(
          (*cache)->Insert("k", std::string(kMostBytes, 'x')).message()),
      HasSubstr("are over a quarter of the room"));
}

// Also where names are like ours, or there were none when it was opened.
TEST(DiskCacheTest, OnlyItsOwnFilesMakeRoom) {
  const std::string directory = NewDirectory();
  auto cache = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE(cache.ok()) << cache.status();
  const std::string hash = "0123456789abcdef0123456789abcdef";
  const std::vector<std::string> foreign = {"thesis.txt",
                                            hash,
                                            hash + ".txt",
                                            hash + "0.ocannl",
                                            ".ocannl",
                                            "a.ocannl",
                                            hash + ".ocannl-new2",
                                            "secret.old",
                                            "link.ocannl",
                                            std::string(32, 'g') + ".ocannl"};
  const std::string value(kMostBytes / 16, 'x');
  const auto long_ago =
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const std::string& name : foreign) {
    const std::string path = absl::StrCat(directory, "/", name);
    ASSERT_TRUE(WriteFile(path, value).ok());
    std::filesystem::last_write_time(path, long_ago);
  }
  const std::string folder = absl::StrCat(directory, "/", hash, ".ocannl");
  ASSERT_TRUE(MakeDirectory(folder).ok());
  const std::string link =
      absl::StrCat(directory, "/", std::string(32, 'f'), ".ocannl");
  std::filesystem::create_symlink("thesis.txt", link);
  // What a process that was killed has left.
  const std::string left = folder + "-new";
  ASSERT_TRUE(WriteFile(left, value).ok());
  std::filesystem::last_write_time(left, long_ago);
  for (int k = 0; k < 40; ++k) {
    ASSERT_TRUE((*cache)->Insert(absl::StrCat(k), value).ok());
  }
  EXPECT_EQ((*cache)->Find("0"), std::nullopt);  // Room was made.
  EXPECT_EQ((*cache)->Find("39"), value);
  for (const std::string& name : foreign) {
    EXPECT_EQ(*ReadFile(absl::StrCat(directory, "/", name)), value) << name;
  }
  EXPECT_TRUE(std::filesystem::is_directory(folder));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_FALSE(ReadFile(left).ok());
}

TEST(DiskCacheTest, OtherPeoplesDirectoriesAreRefused) {
  const std::string directory = NewDirectory();
  ASSERT_EQ(mkdir(directory.c_str(), 0700), 0);
  const std::string file = directory + "/thesis.txt";
  ASSERT_TRUE(WriteFile(file, "text").ok());
  EXPECT_EQ(DiskCache::Open(directory, kMostBytes).status().message(),
            absl::StrCat(directory,
                         " has other files in it, such as thesis.txt; "
                         "give a directory that is new or empty"));
  EXPECT_EQ(OnlyFile(directory), file);
  EXPECT_FALSE(std::filesystem::exists(directory + "/secret"));
  std::filesystem::remove(file);
  EXPECT_TRUE(DiskCache::Open(directory, kMostBytes).ok());
}

// Caches of one process are as those of containers, whose processes have the
// same number.
TEST(DiskCacheTest, WritersDoNotCollide) {
  const std::string directory = NewDirectory();
  ASSERT_EQ(mkdir(directory.c_str(), 0700), 0);
  const std::string left = directory + "/" + std::string(32, '0');
  ASSERT_TRUE(WriteFile(left + ".ocannl-new", "half").ok());
  ASSERT_TRUE(WriteFile(left + ".ocannl", "of a secret that is lost").ok());
  const std::string value(kMostBytes / 64, 'x');
  auto write = [&] {
    auto cache = DiskCache::Open(directory, kMostBytes);
    ASSERT_TRUE(cache.ok()) << cache.status();
    for (int k = 0; k < 100; ++k) {
      const absl::Status status = (*cache)->Insert("key", value);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ((*cache)->Find("key"), value);
    }
  };
  std::vector<std::thread> threads;
  for (int k = 0; k < 8; ++k) threads.emplace_back(write);
  for (std::thread& thread : threads) thread.join();
}

TEST(DiskCacheTest, ErrorsNameThePath) {
  EXPECT_THAT(std::string(DiskCache::Open("/dev/null/x", 1).status().message()),
              HasSubstr("cannot make directory /dev/null/x: Not a directory"));
  EXPECT_THAT(std::string(DiskCache::Open("/dev/null", 1).status().message()),
              HasSubstr("/dev/null is no directory"));
  const std::string directory = NewDirectory();
  auto cache = DiskCache::Open(directory, kMostBytes);
  ASSERT_TRUE(cache.ok()) << cache.status();
  std::filesystem::remove_all(directory);
  EXPECT_THAT(std::string((*cache)->Insert("key", "value").message()),
              HasSubstr(directory + "/"));
}

}  // namespace
}  // namespace ocannl
