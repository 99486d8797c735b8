// SPDX-License-Identifier: Apache-2.0
#include "experiments/bench/runner.h"

#include <string>

#include "absl/strings/str_split.h"
#include "experiments/bench/report.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Takes `seconds` a run, by a clock of its own.
Contender Taking(std::string name, bool ours, double seconds) {
  return {.name = std::move(name), .ours = ours, .time = [=](int64_t runs) {
            return seconds * static_cast<double>(runs);
          }};
}

Contender Giving(std::string name, std::vector<float> numbers,
                 double tolerance) {
  return {.name = std::move(name),
          .time = nullptr,
          .result = [=] { return numbers; },
          .tolerance = tolerance};
}

Workload Flops(double work, std::vector<Contender> contenders) {
  return {.name = "group/work",
          .probe = ProbeKind::kFma,
          .work = work,
          .contenders = std::move(contenders),
          .missing = {"torch: not here"}};
}

TEST(RunnerTest, Spreads) {
  Spread spread = SpreadOf({7, 3, 1, 9, 5, 2, 8, 4, 6, 10, 0});
  EXPECT_EQ(spread.median, 5);
  EXPECT_EQ(spread.low, 1);
  EXPECT_EQ(spread.high, 9);
  EXPECT_EQ(spread.least, 0);
}

TEST(RunnerTest, RatiosAndShares) {
  Workload workload = Flops(
      1e9, {Taking("slow tier", true, 0.02), Taking("fast tier", true, 0.01),
            Taking("peer", false, 0.03)});
  Measurement m = Measure(workload, [] { return 200e9; }, {.seconds = 1});
  ASSERT_EQ(m.standings.size(), 3);
  EXPECT_EQ(m.rounds, 8);  // of 60 ms, twice, and a moment
  EXPECT_EQ(m.kept, 8);
  EXPECT_DOUBLE_EQ(m.standings[0].ratio.median, 2);
  EXPECT_DOUBLE_EQ(m.standings[1].ratio.median, 1);
  EXPECT_DOUBLE_EQ(m.standings[2].ratio.median, 3);
  EXPECT_DOUBLE_EQ(m.standings[1].share.median, 0.5);
  EXPECT_THAT(m.missing, ElementsAre("torch: not here"));
}

TEST(RunnerTest, ShortRunsAreTimedTogether) {
  Workload workload = Flops(1, {Taking("ours", true, 1. / 1024)});
  Measurement m =
      Measure(workload, [] { return 1.; }, {.seconds = 9, .moment = 0.5});
  EXPECT_EQ(m.standings[0].runs, 512);
  EXPECT_EQ(m.standings[0].seconds.median, 1. / 1024);
}

TEST(RunnerTest, RoundsOfADriftingProbeAreDropped) {
  int round = 0;
  double seconds = 1;  // of whoever runs while the probe is slow
  Workload workload =
      Flops(1, {{.name = "ours", .ours = true, .time = [&](int64_t) {
                   return seconds;
                 }}});
  auto probe = [&] {
    bool slow = ++round % 3 == 0;
    seconds = slow ? 2 : 1;
    return slow ? 94. : 100.;
  };
  Measurement m = Measure(workload, probe, {.seconds = 9});
  EXPECT_EQ(m.rounds, 8);
  EXPECT_EQ(m.kept, 6);
  EXPECT_EQ(m.standings[0].seconds.high, 1);
  EXPECT_EQ(m.rate.low, 100);
}

TEST(RunnerTest, WhoIsTooSlowIsMissing) {
  Workload workload =
      Flops(1, {Taking("ours", true, 0.01), Taking("peer", false, 1)});
  Measurement m = Measure(workload, [] { return 1.; }, {.seconds = 0.1});
  ASSERT_EQ(m.standings.size(), 1);
  EXPECT_THAT(m.missing,
              ElementsAre("torch: not here", "peer: too slow, 1 s a run"));
}

TEST(RunnerTest, ExactResultsHaveTheSameBits) {
  Workload workload =
      Flops(1, {Giving("interp", {1, -0.f}, 0), Giving("x86", {1, -0.f}, 0)});
  EXPECT_TRUE(CheckResults(workload).ok());
  workload.contenders.push_back(Giving("x86-2", {1, 0.f}, 0));
  EXPECT_THAT(std::string(CheckResults(workload).message()),
              HasSubstr("number 1 of x86-2 is 0 (0x0p+0) instead of -0"));
}

TEST(RunnerTest, OtherResultsAreWithinTheirTolerance) {
  Workload workload = Flops(
      1, {Giving("interp", {1, 100}, 0), Giving("peer", {1.0005f}, 1e-5)});
  EXPECT_TRUE(CheckResults(workload).ok());
  workload.contenders[1] = Giving("peer", {1.002f, 100}, 1e-5);
  EXPECT_FALSE(CheckResults(workload).ok());
  workload.contenders[1] = Giving("peer", {1, 100, 1}, 1e-5);
  EXPECT_FALSE(CheckResults(workload).ok());
}

TEST(ReportTest, TableAndSummary) {
  Workload workload =
      Flops(1e9, {Taking("x86", true, 0.01), Taking("eigen", false, 0.025),
                  Taking("gcc", false, 0.04)});
  Measurement m = Measure(workload, [] { return 200e9; }, {});
  std::string table = Table(m);
  EXPECT_THAT(table, HasSubstr("group/work: fma 200 GF/s (200 to 200)"));
  EXPECT_THAT(table, HasSubstr("x86"));
  EXPECT_THAT(table, HasSubstr("10 ms"));
  EXPECT_THAT(table, HasSubstr("50.0%"));
  EXPECT_THAT(table, HasSubstr("2.5x"));
  EXPECT_THAT(table, HasSubstr("without torch: not here"));
  EXPECT_EQ(Summary({m, m}),
            "group: 2.5x as fast as the fastest peer "
            "(geometric mean of 2, least 2.5x)\n");
}

TEST(ReportTest, TableFitsATerminal) {
  const Spread wide = {1.2345e-7, 1.2345e-13, 1.2345e-2, 0};
  const Spread ratio = {123456.789, 0.00123456, 12345678, 0};
  for (const ProbeKind probe : {ProbeKind::kFma, ProbeKind::kClock}) {
    const Measurement m = {
        .workload = "group/" + std::string(40, 'n'),
        .probe = probe,
        .work = 123456,
        .rate = {1.2345e11, 1.2345e11, 1.2345e11, 0},
        .rounds = 1001,
        .kept = 1001,
        .standings = {{"gcc of plain nests -O3",
                       false,
                       1,
                       wide,
                       {0.000123456, 0, 0, 0},
                       ratio},
                      {"x86-avx512", true, 1, wide, {0.9, 0, 0, 0}, {}}},
        .missing = {"torch: a library of the system that it needs, in this "
                    "version, is not here"}};
    const std::string text = Table(m) + Summary({m});
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      EXPECT_LE(line.size(), 80) << line;
    }
    EXPECT_THAT(text, HasSubstr("gcc of plain nests -O3\n"));
  }
}

TEST(ReportTest, JsonHoldsTheMeasurements) {
  Workload workload =
      Flops(1e9, {Taking("x86", true, 0.01), Taking("gcc", false, 0.04)});
  Measurement m = Measure(workload, [] { return 200e9; }, {});
  nlohmann::json json = nlohmann::json::parse(Json({m}, /*threads=*/2));
  EXPECT_EQ(json["context"]["threads"], "2");
  EXPECT_NE(json["context"]["processor"], "");
  const nlohmann::json& runs = json["benchmarks"];
  ASSERT_EQ(runs.size(), 4);
  EXPECT_EQ(runs[0]["name"], "group/work/fma");
  EXPECT_EQ(runs[0]["probe_rate_median"], 200e9);
  EXPECT_EQ(runs[1]["label"], "x86");
  EXPECT_EQ(runs[1]["ours"], 1);
  EXPECT_EQ(runs[1]["real_time"], 1e7);
  EXPECT_EQ(runs[1]["time_unit"], "ns");
  EXPECT_EQ(runs[1]["share_median"], 0.5);
  EXPECT_EQ(runs[2]["name"], "group/work/gcc");
  EXPECT_EQ(runs[2]["time_by_ours_median"], 4);
  EXPECT_EQ(runs[3]["error_message"], "torch: not here");
}

}  // namespace
}  // namespace ocannl
