// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/cost/nest_work.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ocannl/core/loop/outline.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

NestWork WorkOfFirst(const std::string& text) {
  const LoopProgram program = MustParse(text);
  return NestWorkOf(program, SplitNests(program.body)[0]);
}

TEST(NestWorkTest, ContractionsAddProductsToACellOfOtherLoops) {
  const NestWork work = WorkOfFirst(
      "p (): in x : f32[4, 3]; in w : f32[3, 16]; inout y : f32[4, 16];\n"
      "for i0 = 0 to 3 { for i1 = 0 to 15 { for i2 = 0 to 2 {\n"
      "y[i0, i1] := fma(x[i0, i2], w[i2, i1], y[i0, i1]); } } }");
  EXPECT_EQ(Name(work.kind), "contraction");
  EXPECT_EQ(work.flops, 2 * 4 * 16 * 3);
  EXPECT_EQ(work.bytes_read, 4 * (12 + 48 + 64));
  EXPECT_EQ(work.bytes_written, 4 * 64);
}

TEST(NestWorkTest, UpdatesInPlaceAreMaps) {
  const NestWork work = WorkOfFirst(
      "p (): in g : f32[9]; inout w : f32[9];\n"
      "for i0 = 0 to 8 { w[i0] := fma(g[i0], 0.5, w[i0]); }");
  EXPECT_EQ(Name(work.kind), "map");
}

TEST(NestWorkTest, OtherKinds) {
  auto kind = [](const std::string& buffers, const std::string& body) {
    return std::string(
        Name(WorkOfFirst("p (): " + buffers + "\n" + body).kind));
  };
  EXPECT_EQ(kind("in x : f32[9]; inout y : f32[];",
                 "for i0 = 0 to 8 { y[] := y[] + x[i0]; }"),
            "reduction");
  EXPECT_EQ(kind("in x : f32[9]; out y : f32[9];",
                 "for i0 = 0 to 8 { y[i0] := x[8 - i0]; }"),
            "copy");
  EXPECT_EQ(kind("out y : f32[9];", "for i0 = 0 to 8 { y[i0] := 1; }"), "fill");
  EXPECT_EQ(kind("out y : f32[9];", "zero_out y;"), "fill");
  EXPECT_EQ(kind("in x : f32[9, 2]; in k : i32[4]; out y : f32[4, 2];",
                 "for i0 = 0 to 3 { for i1 = 0 to 1 {\n"
                 "y[i0, i1] := x[k[i0], i1]; } }"),
            "gather");
  EXPECT_EQ(kind("in x : f32[4, 2]; in k : i32[4]; inout y : f32[9, 2];",
                 "for i0 = 0 to 3 { for i1 = 0 to 1 {\n"
                 "y[k[i0], i1] := x[i0, i1]; } }"),
            "scatter");
}

TEST(NestWorkTest, BytesAreOfTheCellsThatOneRunTouches) {
  // One batch of eight; a window; four rows of a table.
  EXPECT_EQ(WorkOfFirst("p (b : [0..7]): in x : f32[8, 9]; out y : f32[9];\n"
                        "for i0 = 0 to 8 { y[i0] := x[b, i0]; }")
                .bytes_read,
            4 * 9);
  EXPECT_EQ(WorkOfFirst("p (): in x : f32[99]; out y : f32[9];\n"
                        "for i0 = 0 to 8 { y[i0] := x[i0 + 1] + x[i0]; }")
                .bytes_read,
            4 * 10);
  EXPECT_EQ(
      WorkOfFirst("p (): in x : f32[99, 2]; in k : i32[4]; out y : f32[4, 2];\n"
                  "for i0 = 0 to 3 { for i1 = 0 to 1 {\n"
                  "y[i0, i1] := x[k[i0], i1]; } }")
          .bytes_read,
      4 * 4 + 4 * 4 * 2);
}

TEST(NestWorkTest, PrivateArraysHaveNoTraffic) {
  const NestWork work = WorkOfFirst(
      "p (): in x : f32[8]; out y : f32[8]; private t : f32[8];\n"
      "for i2 = 0 to 0 { for i0 = 0 to 7 { t[i0] := x[i0]; }\n"
      "for i1 = 0 to 7 { y[i1] := t[i1]; } }");
  EXPECT_EQ(work.bytes_read, 4 * 8);
  EXPECT_EQ(work.bytes_written, 4 * 8);
}

}  // namespace
}  // namespace ocannl
