// SPDX-License-Identifier: Apache-2.0
//
// The script of a GPU's schedule makes that schedule, of every program of the
// agree suite and of random ones, for every target.
#include "ocannl/core/schedule/gpu/schedule_gpu.h"

#include <filesystem>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/schedule/gpu/target.h"
#include "ocannl/core/schedule/gpu/verify_kernels.h"
#include "ocannl/core/schedule/rewrite/script.h"
#include "ocannl/fuzz/programs/generate.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

constexpr uint64_t kSeeds = 40;

void ExpectScriptMakesSchedule(const LoopProgram& program) {
  for (const gpu::GpuTarget& target :
       {gpu::kTinyGpu, gpu::kMiddleGpu, gpu::kSm90}) {
    SCOPED_TRACE(target.threads);
    const gpu::GpuSchedule schedule = gpu::PlanGpu(program, target);
    EXPECT_THAT(gpu::VerifyKernels(schedule.program), IsOk());
    const auto again = rewrite::RunScript(program, schedule.script);
    ASSERT_THAT(again, IsOk()) << schedule.script;
    EXPECT_EQ(Print(*again), Print(schedule.program)) << schedule.script;
  }
}

TEST(ScheduleGpuTest, ProgramsOfTheAgreeSuite) {
  for (const auto& entry :
       std::filesystem::directory_iterator("tests/agree/programs")) {
    absl::StatusOr<std::string> text = ReadFile(entry.path().string());
    ASSERT_THAT(text, IsOk());
    SCOPED_TRACE(entry.path());
    ExpectScriptMakesSchedule(MustParse(*text));
  }
}

TEST(ScheduleGpuTest, RandomPrograms) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    ExpectScriptMakesSchedule(fuzz::Generate(seed, fuzz::PoliciesOf(seed)));
  }
}

}  // namespace
}  // namespace ocannl
