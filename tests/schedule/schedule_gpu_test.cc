// SPDX-License-Identifier: Apache-2.0
//
// The script of a GPU's schedule makes that schedule, of every program of the
// agree suite and of random ones, for every target.
#include "ocannl/core/schedule/gpu/schedule_gpu.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "ocannl/core/analysis/verify_kernels.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/rewrite/print_script.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/fuzz/programs/generate.h"
#include "tests/support/agree_programs.h"
#include "tests/support/must_parse.h"
#include "tests/support/run_program.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

constexpr uint64_t kSeeds = 200;

// Gives the scripts.
std::string ExpectScriptMakesSchedule(const LoopProgram& program) {
  std::string scripts;
  for (const gpu::GpuTarget& target :
       {gpu::kTinyGpu, gpu::kMiddleGpu, gpu::kSm90}) {
    SCOPED_TRACE(target.threads);
    const gpu::GpuSchedule schedule = gpu::PlanGpu(program, target);
    EXPECT_THAT(gpu::VerifyKernels(schedule.program), IsOk());
    const std::string script = rewrite::Print(schedule.script, program);
    absl::StrAppend(&scripts, script);
    const auto again = rewrite::RunScript(program, script);
    EXPECT_THAT(again, IsOk()) << script;
    if (!again.ok()) continue;
    EXPECT_EQ(Print(*again), Print(schedule.program)) << script;
  }
  return scripts;
}

TEST(ScheduleGpuTest, ProgramsOfTheAgreeSuite) {
  for (const auto& [name, program] : AgreePrograms()) {
    SCOPED_TRACE(name);
    ExpectScriptMakesSchedule(program);
  }
}

TEST(ScheduleGpuTest, RandomPrograms) {
  int tiled = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    const std::string scripts =
        ExpectScriptMakesSchedule(fuzz::Generate(seed, fuzz::PoliciesOf(seed)));
    if (absl::StrContains(scripts, "\nstage ")) ++tiled;
  }
  EXPECT_GE(tiled, static_cast<int>(kSeeds / 50));
}

// Other steps of k are one edit of the script.
TEST(ScheduleGpuTest, OneEditChangesTheStepsOfAProduct) {
  const LoopProgram program = MustParse(R"(
    p ():
      in a : f32[64, 32]; in b : f32[32, 64]; out y : f32[64, 64];
      zero_out y;
      for i0 = 0 to 63 { for i1 = 0 to 63 { for i2 = 0 to 31 {
        y[i0, i1] := fma(a[i0, i2], b[i2, i1], y[i0, i1]); } } })");
  const std::string script =
      rewrite::Print(gpu::PlanGpu(program, gpu::kSm90).script, program);
  const Arrays inputs = FillInputs(program);
  const auto expected = RunProgram(program, inputs);
  ASSERT_THAT(expected, IsOk());
  for (const char* size : {"2", "4", "8", "16"}) {
    const std::string edited = absl::StrReplaceAll(
        script,
        {{"k_block = split i2 32", absl::StrCat("k_block = split i2 ", size)}});
    ASSERT_NE(edited, script);
    const auto made = rewrite::RunScript(program, edited);
    ASSERT_THAT(made, IsOk()) << edited;
    const auto result = RunProgram(*made, inputs);
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(Difference(*expected, *result), "") << edited;
  }
}

// What goldens are too small for: those run on every tier.
TEST(ScheduleGpuTest, LargeProductsHaveLargeTiles) {
  const LoopProgram program = MustParse(R"(
    p ():
      in a : f32[4096, 4096]; in b : f32[4096, 4096];
      inout y : f32[4096, 4096];
      for i0 = 0 to 4095 { for i1 = 0 to 4095 { for i2 = 0 to 4095 {
        y[i0, i1] := fma(a[i0, i2], b[i2, i1], y[i0, i1]); } } })");
  const gpu::GpuSchedule schedule = gpu::PlanGpu(program, gpu::kSm90);
  const std::string text = Print(schedule.program);
  EXPECT_TRUE(absl::StrContains(text, "private acc : f32[16, 16, 8, 2, 4]"))
      << text;
  EXPECT_TRUE(absl::StrContains(text, "shared staged : f32[16, 132]")) << text;
  EXPECT_TRUE(absl::StrContains(text, "shared staged_2 : f32[16, 128]"))
      << text;
  EXPECT_THAT(gpu::VerifyKernels(schedule.program), IsOk());
}

}  // namespace
}  // namespace ocannl
