// SPDX-License-Identifier: Apache-2.0
//
// Profiles of routines on the tiers of this machine. Takes about a second.
#include "ocannl/core/tiering/profile.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/outline.h"
#include "ocannl/core/runtime/routine.h"
#include "ocannl/core/tiering/cost/nest_work.h"
#include "ocannl/jit/vcode/isa.h"
#include "ocannl/jit/x86_backend.h"
#include "ocannl/tiers/profile_report.h"
#include "ocannl/tiers/tiers.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

using Json = nlohmann::ordered_json;
using testing::HasSubstr;

// A product, sums of columns, an update in place, and a map of the product,
// which is a temp from the first nest to the last.
constexpr char kStep[] = R"(
  in x : f32[64, 48];
  inout w : f32[48, 96];
  temp h : f32[64, 96];
  temp s : f32[96];
  out y : f32[64, 96];
  /* 7: h =:+ x * w, net.cc:3 */
  zero_out h;
  for i0 = 0 to 63 { for i1 = 0 to 95 { for i2 = 0 to 47 {
    h[i0, i1] := fma(x[i0, i2], w[i2, i1], h[i0, i1]); } } }
  /* 8: s =:+ h */
  zero_out s;
  for i3 = 0 to 63 { for i4 = 0 to 95 { s[i4] := s[i4] + h[i3, i4]; } }
  /* 9: w =- s */
  for i5 = 0 to 47 { for i6 = 0 to 95 {
    w[i5, i6] := fma(s[i6], -0.001, w[i5, i6]); } }
  /* 10: y =: exp(h) */
  for i7 = 0 to 63 { for i8 = 0 to 95 { y[i7, i8] := exp(h[i7, i8]); } }
)";

LoopProgram Step(const std::string& name) {
  return MustParse(name + " ():" + kStep);
}

Arrays LeftBy(const Backend* tier, const LoopProgram& program, int runs) {
  TestDevice device(tier, /*traces=*/false);
  const Arrays inputs = FillInputs(program);
  for (const loop_ir::Buffer& buffer : program.buffers) {
    if (!loop_ir::IsInput(buffer.role)) continue;
    CHECK_OK(device.context.WriteInput(buffer, inputs.at(buffer.name)));
  }
  auto routine = device.context.CompileAndLink(program);
  CHECK_OK(routine);
  for (int run = 0; run < runs; ++run) CHECK_OK(routine->Run());
  Arrays left;
  for (const loop_ir::Buffer& buffer : program.buffers) {
    if (!loop_ir::IsResult(buffer.role)) continue;
    auto values = device.context.Read(buffer.name);
    CHECK_OK(values);
    left.emplace(buffer.name, *std::move(values));
  }
  return left;
}

// Everything needs a second.
double RateOf1(ProbeKind, int) { return 1; }

// Of the profile of the process.
Json ProfileOf(const std::string& program) {
  const Json all = ProfileJson(Profile::OfProcess(), RateOf1);
  for (const Json& row : all["programs"]) {
    if (row["program"] == program) return row;
  }
  return {};
}

const Backend* Find(const std::string& tier, bool profile) {
  auto backend = FindTier(tier, {.threads = 2, .profile = profile});
  CHECK_OK(backend);
  return *backend;
}

TEST(ProfileTest, RunsOfNestsAndWholeRunsLeaveTheBitsOfTheTier) {
  for (const std::string& tier : AvailableTiers()) {
    for (int runs : {1, 2, 5}) {
      const LoopProgram program = Step("bits");
      EXPECT_EQ(Difference(LeftBy(Find(tier, false), program, runs),
                           LeftBy(Find(tier, true), program, runs)),
                "")
          << tier << ", " << runs << " runs";
    }
  }
}

TEST(ProfileTest, EveryNestOfTheScheduleIsThereOnce) {
  for (jit::Isa isa : jit::kIsas) {
    if (!jit::IsSupported(isa)) continue;
    const std::string name = absl::StrCat("nests_", jit::Name(isa));
    const LoopProgram program = Step(name);
    LeftBy(Find(absl::StrCat("x86-", jit::Name(isa)), true), program, 5);
    const LoopProgram scheduled = jit::ScheduleFor(program, isa, {});
    const std::vector<loop_ir::Block> nests = SplitNests(scheduled.body);
    const Json profile = ProfileOf(name);
    ASSERT_EQ(profile["nests"].size(), nests.size());
    for (size_t k = 0; k < nests.size(); ++k) {
      const Json& nest = profile["nests"][k];
      const NestWork work = NestWorkOf(scheduled, nests[k]);
      EXPECT_EQ(nest["name"], absl::StrCat("nest-", k));
      EXPECT_EQ(nest["class"], std::string(Name(work.kind)));
      EXPECT_EQ(nest["flops"], work.flops);
      EXPECT_EQ(nest["bytes_read"], work.bytes_read);
      EXPECT_EQ(nest["bytes_written"], work.bytes_written);
      EXPECT_GT(nest["median_us"], 0);
      EXPECT_LE(nest["p10_us"], nest["median_us"]);
      EXPECT_LE(nest["median_us"], nest["p90_us"]);
    }
    EXPECT_EQ(profile["tier"], absl::StrCat("x86-", jit::Name(isa)));
    EXPECT_EQ(profile["runs"], 3);
    EXPECT_EQ(profile["whole"]["runs"], 2);
    EXPECT_GT(profile["whole"]["median_us"], 0);
    EXPECT_GT(profile["together"]["median_us"], 0);
  }
}

TEST(ProfileTest, SumsAreOfAllNests) {
  LeftBy(Find("interp", true), Step("sums"), 3);
  const Json profile = ProfileOf("sums");
  // The interpreter has no schedule.
  ASSERT_EQ(profile["nests"].size(), 6);
  EXPECT_EQ(profile["nests"][1]["class"], "contraction");
  EXPECT_EQ(profile["nests"][1]["writes"], "h");
  EXPECT_EQ(profile["nests"][0]["origin"], "7: h =:+ x * w, net.cc:3");
  EXPECT_EQ(profile["nests"][1]["flops"], 2 * 64 * 48 * 96);
  for (const char* sums : {"classes", "lines"}) {
    double us = 0;
    int nests = 0;
    for (const Json& row : profile[sums]) {
      us += row["median_us"].get<double>();
      nests += row["nests"].get<int>();
    }
    // A comment is about the nests up to the next.
    EXPECT_EQ(nests, 6) << sums;
    EXPECT_NEAR(us, profile["sum_us"], 1e-6 * us) << sums;
  }
  EXPECT_EQ(profile["classes"].size(), 4);
  EXPECT_EQ(profile["lines"].size(), 4);
}

TEST(ProfileTest, OfLimitIsTheTimeOfTheSlowerProbe) {
  LeftBy(Find("interp", true), Step("limits"), 1);
  const Json nest = ProfileOf("limits")["nests"][1];
  EXPECT_EQ(nest["limit"], "fma");
  EXPECT_NEAR(nest["of_limit"].get<double>() * nest["median_us"].get<double>(),
              1e6 * nest["flops"].get<double>(), 1);
  const Json map = ProfileOf("limits")["nests"][2];
  EXPECT_THAT(map["limit"].get<std::string>(), HasSubstr("copy in"));
}

TEST(ProfileTest, TextHasARowForEachNest) {
  LeftBy(Find("interp", true), Step("text"), 2);
  const Json all = {{"version", 1},
                    {"programs", Json::array({ProfileOf("text")})}};
  const std::string text = ProfileText(all, 1);
  EXPECT_THAT(text, HasSubstr("interp text: 1 runs nest by nest, 1 whole\n"));
  for (const char* part : {"nest-5 ", "\nall nests in turn", "\nwhole  ",
                           "contraction", "net.cc:3"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

TEST(ProfileTest, QuantilesAreOfSamplesThatAreKept) {
  DurationSamples samples;
  EXPECT_EQ(samples.Quantile(0.5), 0);
  for (int k = 1; k <= 9; ++k) samples.Add(k * 1'000);
  EXPECT_DOUBLE_EQ(samples.Quantile(0.5), 5e-6);
  EXPECT_DOUBLE_EQ(samples.Quantile(0), 1e-6);
  EXPECT_DOUBLE_EQ(samples.Quantile(1), 9e-6);
  for (int k = 0; k < 100'000; ++k) samples.Add(7'000);
  EXPECT_EQ(samples.count(), 100'009);
  EXPECT_DOUBLE_EQ(samples.Quantile(0.5), 7e-6);
}

}  // namespace
}  // namespace ocannl
