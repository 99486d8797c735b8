// SPDX-License-Identifier: Apache-2.0
//
// Saving that is killed, or finds the disk full, leaves a whole file: the old
// one or the new one.
//
//   CHECKPOINT_KILLS=500 bazel run //tests/checkpoint:survival_test
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"
#include "ocannl/train/checkpoint/checkpoint.h"
#include "tests/checkpoint/samples.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

class SurvivalTest : public testing::TestWithParam<std::string> {
 protected:
  std::string folder_ = NewFolder("survival");
  std::string path_ = absl::StrCat(folder_, "/m", GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, SurvivalTest,
                         testing::Values(".npz", ".safetensors"),
                         [](const auto& test) { return test.param.substr(1); });

// Arrays of which every cell is `k`.
std::vector<train::NamedArray> Generation(float k) {
  std::vector<train::NamedArray> arrays;
  for (const char* name : {"u", "v", "w"}) {
    arrays.emplace_back(name, NdArray(DType::kF32, {100, 100}));
    for (float& cell : arrays.back().second.values<float>()) cell = k;
  }
  return arrays;
}

// The generation that the file has; -1 if it is not whole.
double GenerationOf(const std::string& path) {
  const Place place;
  const std::vector<train::NamedArray> like = Generation(0);
  if (!train::RestoreParams(path, ArraysOf(like), place.context).ok())
    return -1;
  const double first = place.context.Read("u")->AsDouble(0);
  const Place same(Generation(static_cast<float>(first)));
  return Contents(place.context) == Contents(same.context) ? first : -1;
}

TEST_P(SurvivalTest, AKillLeavesAWholeFile) {
  const char* text = std::getenv("CHECKPOINT_KILLS");
  int kills = 0;
  if (text == nullptr || !absl::SimpleAtoi(text, &kills)) kills = 25;
  std::mt19937_64 random(1);
  double last = 1;
  const std::vector<train::NamedArray> first = Generation(1);
  const auto start = std::chrono::steady_clock::now();
  CHECK_OK(train::SaveParams(path_, ArraysOf(first), Place(first).context));
  const std::chrono::duration<double, std::micro> saving =
      std::chrono::steady_clock::now() - start;
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (double k = last + 1;; ++k) {
        const std::vector<train::NamedArray> arrays =
            Generation(static_cast<float>(k));
        CHECK_OK(
            train::SaveParams(path_, ArraysOf(arrays), Place(arrays).context));
      }
    }
    // Also on a slow disk some come during a second saving or later.
    usleep(static_cast<useconds_t>(
        random() % (20'000 + 4 * static_cast<uint64_t>(saving.count()))));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const double now = GenerationOf(path_);
    ASSERT_GE(now, last);
    last = now;
  }
  CHECK_OK(train::SaveParams(path_, ArraysOf(first), Place(first).context));
  const std::filesystem::directory_iterator left(folder_);
  EXPECT_EQ(std::distance(begin(left), end(left)), 2);  // and the previous one
  std::printf("%d kills; %.0f files written\n", kills, last);
  EXPECT_GT(last, 1);
}

// The system refuses to write beyond so many bytes of a file.
absl::Status SaveBelow(rlim_t bytes, const std::string& path,
                       const std::vector<train::NamedArray>& arrays) {
  const Place place(arrays);
  rlimit before;
  CHECK_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  absl::Status status =
      train::SaveParams(path, ArraysOf(arrays), place.context);
  CHECK_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  return status;
}

TEST_P(SurvivalTest, AFullDiskLeavesTheOldFile) {
  CHECK_OK(SaveBelow(RLIM_INFINITY, path_, Generation(1)));
  const auto size = std::filesystem::file_size(path_);
  for (size_t bytes = 0; bytes < size; bytes += size / 20) {
    const absl::Status status = SaveBelow(bytes, path_, Generation(2));
    EXPECT_FALSE(status.ok()) << bytes;
    EXPECT_NE(status.message().find(folder_), status.message().npos) << status;
    EXPECT_EQ(GenerationOf(path_), 1);
    const std::filesystem::directory_iterator left(folder_);
    EXPECT_EQ(std::distance(begin(left), end(left)), 1) << bytes;
  }
  EXPECT_THAT(SaveBelow(size, path_, Generation(2)), IsOk());
  EXPECT_EQ(GenerationOf(path_), 2);
}

}  // namespace
}  // namespace ocannl
