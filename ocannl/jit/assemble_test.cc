// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/assemble.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl::jit {
namespace {

using testing::ElementsAre;

std::vector<int64_t> Iterations(const char* body) {
  const LoopProgram program =
      MustParse(std::string("p (): in x : f32[8, 16]; inout y : f32[8, 16];"
                            "private p : f32[16];") +
                body);
  const CodeImage image = *Assemble(program, Isa::kAvx2);
  std::vector<int64_t> iterations;
  for (const CodeImage::Section& section : image.sections) {
    iterations.push_back(section.iterations);
  }
  return iterations;
}

TEST(AssembleTest, ParallelLoopsAreSections) {
  EXPECT_THAT(Iterations("y[0, 0] := 1; y[1, 0] := 2;"
                         "par i0 = 0 to 7 { y[i0, 1] := x[i0, 2]; }"
                         "for i1 = 0 to 7 { y[i1, 2] := x[i1, 3]; }"),
              ElementsAre(0, 8, 0));
}

TEST(AssembleTest, PrivateBuffersAreOfAnIteration) {
  EXPECT_THAT(Iterations("par i0 = 0 to 7 {"
                         "  vec i1 = 0 to 15 { p[i1] := x[i0, i1]; }"
                         "  for i2 = 0 to 15 { y[i0, i2] := p[15 - i2]; } }"),
              ElementsAre(8));
}

}  // namespace
}  // namespace ocannl::jit
