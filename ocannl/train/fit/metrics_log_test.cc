// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/fit/metrics_log.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/file.h"

namespace ocannl::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string PathOf(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

std::string Read(const std::string& path) {
  auto text = ReadFile(path);
  CHECK_OK(text);
  return *text;
}

EpochMetrics At(int64_t epoch) {
  return {.epoch = epoch,
          .step = 10 * epoch,
          .loss = 0.1,
          .rate = 0.5,
          .seconds = 2};
}

TEST(MetricsLogTest, ALineIsThereAtOnce) {
  const std::string path = PathOf("log.jsonl");
  CHECK_OK(WriteFile(path, "of another training"));
  auto log = MetricsLog::Open(path, 0);
  CHECK_OK(log);
  EpochMetrics metrics = At(1);
  metrics.measures = {{"test_loss", 0.25}, {"accuracy", 1}};
  CHECK_OK(log->Write(metrics));
  EXPECT_EQ(Read(path),
            R"({"epoch":1,"step":10,"loss":0.1,"rate":0.5,"seconds":2.0,)"
            R"("test_loss":0.25,"accuracy":1.0})"
            "\n");
}

TEST(MetricsLogTest, WhatIsNotFiniteIsNull) {
  const std::string path = PathOf("not_finite.jsonl");
  auto log = MetricsLog::Open(path, 0);
  CHECK_OK(log);
  EpochMetrics metrics = At(1);
  metrics.loss = kNan;
  metrics.rate = -kInfinity;
  CHECK_OK(log->Write(metrics));
  EXPECT_EQ(Read(path),
            R"({"epoch":1,"step":10,"loss":null,"rate":null,"seconds":2.0})"
            "\n");
}

TEST(MetricsLogTest, GoesOnBehindTheWholeEpochs) {
  const std::string path = PathOf("goes_on.jsonl");
  {
    auto log = MetricsLog::Open(path, 0);
    CHECK_OK(log);
    for (int64_t epoch : {1, 2, 3}) CHECK_OK(log->Write(At(epoch)));
  }
  const std::string three = Read(path);
  // Killed in a line, and after a checkpoint within the third epoch.
  CHECK_OK(WriteFile(path, three + R"({"epoch":4,"ste)"));
  auto log = MetricsLog::Open(path, 2);
  CHECK_OK(log);
  CHECK_OK(log->Write(At(3)));
  EXPECT_EQ(Read(path), three);
  // One that began without a log.
  CHECK_OK(MetricsLog::Open(PathOf("new.jsonl"), 2));
}

TEST(MetricsLogTest, ErrorsNameTheFile) {
  EXPECT_THAT(std::string(MetricsLog::Open("/none/log", 0).status().message()),
              testing::HasSubstr("/none/log"));
  EXPECT_THAT(
      std::string(MetricsLog::Open(testing::TempDir(), 5).status().message()),
      testing::HasSubstr(testing::TempDir()));
  auto full = MetricsLog::Open("/dev/full", 0);
  CHECK_OK(full);
  EXPECT_THAT(std::string(full->Write(At(1)).message()),
              testing::HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace ocannl::train
