// SPDX-License-Identifier: Apache-2.0
//
// NVRTC compiles the kernels of programs, and in what it makes of them every
// operation rounds as the text says, and no register is spilled. Skipped on a
// machine without a toolkit.
#include <regex>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/schedule/gpu/schedule_gpu.h"
#include "ocannl/cuda/kernel_text.h"
#include "ocannl/cuda/nvrtc.h"
#include "ocannl/fuzz/programs/generate.h"
#include "tests/support/agree_programs.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

constexpr uint64_t kSeeds = 6;

// Instructions of PTX that approximate, flush to zero, round once where the
// program rounds twice, or depend on the order of threads. Not min.f32: NVRTC
// makes it of comparisons with a constant, where it means the same.
constexpr absl::string_view kForbidden[] = {
    ".approx",   ".ftz",      "\tatom.",   "\tred.",    "\tfma.f",
    "\tmad.f",   "\tadd.f32", "\tadd.f64", "\tsub.f32", "\tsub.f64",
    "\tmul.f32", "\tmul.f64", "div.full",  "\tsqrt.f"};

class NvrtcKernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_.ok()) GTEST_SKIP() << nvrtc_.status().message();
  }

  void ExpectExact(const LoopProgram& program) {
    const cuda::KernelText kernels = cuda::WriteKernels(program);
    const std::string text = cuda::SourceOf(kernels.functions);
    if (!seen_.insert(text).second) return;  // what has its schedule already
    const auto code = nvrtc_->Compile(text, program.name, "sm_90");
    ASSERT_THAT(code, IsOk()) << text;
    for (const cuda::KernelFunction& function : kernels.functions) {
      EXPECT_NE(code->ptx.find(absl::StrCat(".entry ", function.name, "(")),
                std::string::npos);
    }
    for (absl::string_view word : kForbidden) {
      EXPECT_FALSE(absl::StrContains(code->ptx, word)) << word << " in\n"
                                                       << text << code->ptx;
      if (HasFailure()) return;
    }
    EXPECT_TRUE(absl::StrContains(code->log, " 0 bytes spill stores"))
        << code->log;
    EXPECT_FALSE(
        std::regex_search(code->log, std::regex("[1-9][0-9]* bytes spill")))
        << code->log;
  }

  const absl::StatusOr<cuda::Nvrtc> nvrtc_ = cuda::Nvrtc::Open();
  std::set<std::string> seen_;
};

TEST_F(NvrtcKernelsTest, ProgramsOfTheAgreeSuite) {
  for (const auto& [name, program] : AgreePrograms()) {
    SCOPED_TRACE(name);
    const auto demoted = gpu::Demoted(program);
    ASSERT_THAT(demoted, IsOk());
    ExpectExact(*demoted);
    ExpectExact(gpu::ScheduleGpu(program, gpu::kSm90));
    if (HasFailure()) return;
  }
}

TEST_F(NvrtcKernelsTest, RandomPrograms) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    ExpectExact(gpu::ScheduleGpu(fuzz::Generate(seed, fuzz::PoliciesOf(seed)),
                                 gpu::kSm90));
    if (HasFailure()) return;
  }
}

TEST_F(NvrtcKernelsTest, VectorsAreOneInstruction) {
  absl::StatusOr<std::string> text =
      ReadFile("tests/agree/programs/gpu_vectors.ll");
  ASSERT_THAT(text, IsOk());
  const LoopProgram program = MustParse(*text);
  const auto code =
      nvrtc_->Compile(cuda::SourceOf(cuda::WriteKernels(program).functions),
                      program.name, "sm_90");
  ASSERT_THAT(code, IsOk());
  for (absl::string_view word :
       {"\tld.global.v4.f32", "\tst.global.v4.f32", "\tst.global.v4.u16"}) {
    EXPECT_TRUE(absl::StrContains(code->ptx, word)) << code->ptx;
  }
}

// That the words would be found.
TEST_F(NvrtcKernelsTest, WhatIsForbiddenIsSeen) {
  const auto code = nvrtc_->Compile(
      "extern \"C\" __global__ void k(float* x) {\n"
      "  x[0] = __fdividef(__expf(x[1]), x[2]) + rsqrtf(x[3]);\n"
      "  atomicAdd(x + 4, x[5]);\n}",
      "k", "sm_90");
  ASSERT_THAT(code, IsOk());
  for (absl::string_view word : {".approx", "\tatom.", "div.approx"}) {
    EXPECT_TRUE(absl::StrContains(code->ptx, word)) << code->ptx;
  }
}

}  // namespace
}  // namespace ocannl
