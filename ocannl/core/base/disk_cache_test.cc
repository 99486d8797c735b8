// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/disk_cache.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

// A name that no other test has, where nothing is.
std::string NewDirectory() {
  const std::string path =
      testing::TempDir() + "/disk_cache_" +
      testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(path);
  return path;
}

std::string OnlyFile(const std::string& directory) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    EXPECT_EQ(found, "");
    found = entry.path();
  }
  return found;
}

TEST(DiskCacheTest, ValuesOutliveIt) {
  const std::string directory = NewDirectory();
  const std::string value("a\0b", 3);
  {
    absl::StatusOr<DiskCache> cache = DiskCache::Open(directory);
    ASSERT_TRUE(cache.ok()) << cache.status();
    EXPECT_EQ(cache->Find("key"), std::nullopt);
    ASSERT_TRUE(cache->Insert("key", "an older value").ok());
    ASSERT_TRUE(cache->Insert("key", value).ok());
    OnlyFile(directory);
  }
  absl::StatusOr<DiskCache> cache = DiskCache::Open(directory);
  ASSERT_TRUE(cache.ok()) << cache.status();
  EXPECT_EQ(cache->Find("key"), value);
  EXPECT_EQ(cache->Find("ke"), std::nullopt);
}

TEST(DiskCacheTest, DamagedFilesHoldNothing) {
  const std::string directory = NewDirectory();
  absl::StatusOr<DiskCache> cache = DiskCache::Open(directory);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_TRUE(cache->Insert("key", "value").ok());
  const std::string path = OnlyFile(directory);
  const std::string file = *ReadFile(path);
  for (size_t k = 0; k < file.size(); ++k) {
    ASSERT_TRUE(WriteFile(path, file.substr(0, k)).ok());
    EXPECT_EQ(cache->Find("key"), std::nullopt) << "cut at " << k;
    std::string other = file;
    other[k] ^= 1;
    ASSERT_TRUE(WriteFile(path, other).ok());
    EXPECT_EQ(cache->Find("key"), std::nullopt) << "changed at " << k;
  }
  ASSERT_TRUE(WriteFile(path, file).ok());
  EXPECT_EQ(cache->Find("key"), "value");
}

// Two keys may have one hash: the file says whose value it is.
TEST(DiskCacheTest, AnotherKeysFileHoldsNothing) {
  const std::string directory = NewDirectory();
  absl::StatusOr<DiskCache> cache = DiskCache::Open(directory);
  ASSERT_TRUE(cache.ok()) << cache.status();
  ASSERT_TRUE(cache->Insert("one", "1").ok());
  const std::string one = OnlyFile(directory);
  const std::string bytes = *ReadFile(one);
  std::filesystem::remove(one);
  ASSERT_TRUE(cache->Insert("two", "2").ok());
  ASSERT_TRUE(WriteFile(OnlyFile(directory), bytes).ok());
  EXPECT_EQ(cache->Find("two"), std::nullopt);
}

TEST(DiskCacheTest, OthersMayNotWrite) {
  const std::string directory = NewDirectory();
  ASSERT_TRUE(DiskCache::Open(directory).ok());
  ASSERT_EQ(chmod(directory.c_str(), 0770), 0);
  absl::Status status = DiskCache::Open(directory).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("others may write to " + directory));
}

TEST(DiskCacheTest, ErrorsNameThePath) {
  EXPECT_THAT(std::string(DiskCache::Open("/dev/null/x").status().message()),
              HasSubstr("cannot make directory /dev/null: Not a directory"));
  EXPECT_THAT(std::string(DiskCache::Open("/dev/null").status().message()),
              HasSubstr("/dev/null is no directory"));
  const std::string directory = NewDirectory();
  absl::StatusOr<DiskCache> cache = DiskCache::Open(directory);
  ASSERT_TRUE(cache.ok()) << cache.status();
  std::filesystem::remove_all(directory);
  EXPECT_THAT(std::string(cache->Insert("key", "value").message()),
              HasSubstr("cannot write " + directory));
}

}  // namespace
}  // namespace ocannl
