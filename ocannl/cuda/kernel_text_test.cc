// SPDX-License-Identifier: Apache-2.0
#include "ocannl/cuda/kernel_text.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<size_t> FunctionsOf(const KernelText& text) {
  std::vector<size_t> functions;
  for (const Kernel& kernel : text.kernels)
    functions.push_back(kernel.function);
  return functions;
}

TEST(KernelTextTest, KernelsThatDoTheSameShareAFunction) {
  const LoopProgram program = MustParse(R"(
    layers (n : [0..3]):
      in x : f32[4, 32];
      in w : f32[32];
      temp h : f32[32];
      out y : f32[32];
      grid i0 = 0 to 1 {
        thread i1 = 0 to 15 { h[16*i0 + i1] := x[n, 16*i0 + i1] * w[i1]; }
      }
      grid i5 = 0 to 1 {
        thread i3 = 0 to 15 { y[16*i5 + i3] := x[n, 16*i5 + i3] * h[i3]; }
      }
      grid i6 = 0 to 1 {
        thread i7 = 0 to 15 { y[16*i6 + i7] := y[16*i6 + i7] * h[i7]; }
      })");
  const KernelText text = WriteKernels(program);
  // The last one writes what it reads.
  EXPECT_THAT(FunctionsOf(text), ElementsAre(0, 0, 1));
  ASSERT_EQ(text.functions.size(), 3);
  EXPECT_EQ(text.advance, 2);
  const BufferId x{0}, w{1}, h{2}, y{3};
  EXPECT_THAT(text.kernels[0].buffers, ElementsAre(h, w, x));
  EXPECT_THAT(text.kernels[0].written, ElementsAre(h));
  EXPECT_THAT(text.kernels[1].buffers, ElementsAre(y, h, x));
  EXPECT_THAT(text.kernels[1].written, ElementsAre(y));
  EXPECT_THAT(text.kernels[2].buffers, ElementsAre(y, h));
  EXPECT_EQ(PrintCalls(program, text),
            "// layers_0<<<2, 16, 0>>>(h, w, x, statics)\n"
            "// layers_0<<<2, 16, 0>>>(y, h, x, statics)\n"
            "// layers_1<<<2, 16, 0>>>(y, h, statics)\n"
            "// layers_advance<<<1, 1, 0>>>(statics)\n");
}

TEST(KernelTextTest, APersistentKernelCountsItsRuns) {
  const KernelText text = WritePersistentKernel(MustParse(R"(
    steps (n : [0..3]):
      in x : f32[4, 32];
      inout y : f32[32];
      grid i0 = 0 to 0 {
        for i1 = 0 to 1 {
          thread i2 = 0 to 15 { y[16*i1 + i2] := x[n, 16*i1 + i2]; }
        }
        thread i3 = 0 to 15 { y[i3] := y[i3 + 16]; }
      })"));
  ASSERT_EQ(text.functions.size(), 1);
  EXPECT_EQ(text.advance, std::nullopt);
  const std::string& function = text.functions[0].text;
  EXPECT_THAT(
      function,
      HasSubstr("const i64_t* statics) {\n"
                "  for (i64_t run = 0; run < statics[2]; ++run) {\n"
                "    const i64_t s0 = statics[0] + run * statics[1];\n"));
  // The next run waits for this one.
  EXPECT_THAT(function, HasSubstr("    __syncthreads();\n  }\n}\n"));
}

// The driver is told once of a function how much there is.
TEST(KernelTextTest, NotWithOtherSharedMemory) {
  const KernelText text = WriteKernels(MustParse(R"(
    p ():
      in x : f32[8];
      out y : f32[8];
      out z : f32[8];
      shared s : f32[8];
      shared t : f32[9];
      grid i0 = 0 to 0 {
        thread i1 = 0 to 7 { s[i1] := x[i1]; }
        thread i2 = 0 to 7 { y[i2] := s[7 - i2]; }
      }
      grid i3 = 0 to 0 {
        thread i4 = 0 to 7 { t[i4] := x[i4]; }
        thread i5 = 0 to 7 { z[i5] := t[7 - i5]; }
      })"));
  EXPECT_THAT(FunctionsOf(text), ElementsAre(0, 1));
  EXPECT_EQ(text.kernels[0].shared_bytes, 32);
  EXPECT_EQ(text.kernels[1].shared_bytes, 48);
}

TEST(KernelTextTest, WhatIsNoGridIsOfOneThread) {
  const KernelText text = WriteKernels(MustParse(R"(
    p ():
      inout x : f32[8];
      private t : f32[1];
      for i0 = 0 to 7 { t[0] := x[i0]; x[i0] := t[0] + t[0]; }
      x[0] := 3;)"));
  ASSERT_EQ(text.kernels.size(), 1);
  EXPECT_EQ(text.kernels[0].blocks * text.kernels[0].threads, 1);
  EXPECT_EQ(text.kernels[0].buffers.size(), 2);
  EXPECT_THAT(text.functions[0].text, Not(HasSubstr("threadIdx")));
}

}  // namespace
}  // namespace ocannl::cuda
