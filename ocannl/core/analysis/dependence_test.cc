// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/dependence.h"

#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

LoopProgram ParseWith(const std::string& body) {
  return MustParse(
      absl::StrCat("t (s : [0..7], n : [0..3]):\n"
                   "  inout x : f32[4, 8]; inout y : f32[8]; "
                   "inout z : f32[4, 4]; inout w : f32[64]; "
                   "inout ids : i32[4];\n"
                   "  private p : f32[4];\n  let v0 : f32 := 0;\n",
                   body));
}

const For& LastLoop(const LoopProgram& program) {
  return std::get<For>(program.body.stmts.back());
}

struct LoopCase {
  std::string body;  // of a loop over i1 from 0 to 3
  bool lanes;
  bool parallel;
};

const LoopCase kLoopCases[] = {
    {"x[i1, 0] := 1;", true, true},
    {"x[i1, 0] := x[i1, 1];", true, true},
    {"x[0, i1] := x[1, i1] + x[0, i1];", true, true},
    {"x[0, 0] := x[i1, 1];", false, false},
    {"x[0, 0] := x[0, 0] + y[i1];", false, false},
    // Along the line: reads before writes are kept, writes before reads not.
    {"y[i1 + 1] := y[i1];", false, false},
    {"y[i1] := y[i1 + 1];", true, false},
    {"y[i1] := 1; x[0, i1 + 1] := y[i1 + 1];", false, false},
    {"y[i1 + 1] := 1; x[0, i1] := y[i1];", true, false},
    {"x[0, i1] := y[i1 + 1]; y[i1] := 1;", true, false},
    {"y[i1] := 1; y[i1 + 1] := 2;", false, false},
    // What is looked up may be any cell of the axis.
    {"y[i1] := x[ids[i1], 3];", true, true},
    {"y[i1] := y[ids[i1]];", false, false},
    {"x[i1, 0] := x[ids[i1], 0];", false, false},
    {"x[i1, 0] := x[ids[i1], 1];", true, true},
    {"x[i1, 0] := x[i1, ids[i1]];", true, true},
    {"ids[i1] := 1:i32; y[i1] := w[ids[i1]];", true, true},
    {"ids[0] := i32([i1]); y[i1] := w[ids[0]];", false, false},
    // What is stored by index, in any cell of the axis.
    {"y[ids[i1]] := y[i1];", false, false},
    {"y[ids[i1]] := w[i1];", false, false},
    {"x[ids[i1], 0] := x[i1, 1];", false, false},
    {"x[ids[0], i1] := y[i1] + x[ids[0], i1];", true, true},
    {"x[ids[i1], i1] := x[ids[3], i1] + y[i1];", true, true},
    {"x[ids[i1], i1] := x[ids[i1], i1 + 4];", true, true},
    {"x[ids[i1], i1] := x[ids[i1], i1 + 1];", true, false},
    {"x[ids[i1], i1] := 1; y[i1] := x[0, i1];", true, true},
    {"ids[ids[i1]] := 1:i32;", false, false},
    {"x[ids[i1], i1] := 1; ids[i1] := 2:i32;", true, true},
    {"ids[0] := 2:i32; x[ids[0], i1] := 1;", false, false},
    {"for i2 = 0 to 3 { x[ids[i2], i1] := x[ids[i2], i1] + z[i2, i1]; }", false,
     true},
    {"for i2 = 0 to 3 { x[ids[i1], i2] := x[ids[i1], i2] + z[i1, i2]; }", false,
     false},
    // Other cells.
    {"y[2*i1] := y[2*i1 + 1];", true, true},
    {"y[i1] := y[7 - i1];", true, true},
    {"y[i1] := y[3 - i1];", false, false},
    {"y[i1 + 4] := y[i1];", true, true},
    {"w[16*i1 + 3] := w[16*i1 + 12] + w[4];", true, true},
    {"w[16*i1 + 4] := w[16*i1 + 12] + w[4];", false, false},
    // Static indices have any value, the same in all iterations.
    {"y[s] := y[i1];", false, false},
    {"x[i1, s] := x[i1, 0];", true, true},
    {"y[i1 + n] := y[i1 + n] + 1;", true, true},
    {"y[i1 + n] := y[i1];", false, false},
    {"w[8*i1 + s] := w[8*i1];", true, true},
    {"w[7*i1 + s] := w[7*i1];", false, false},
    // Locals.
    {"let v1 : f32 := y[i1]; y[i1] := v1;", true, true},
    {"let v1 : f32 := y[i1]; v1 := v1 + 1; y[i1] := v1;", true, true},
    {"v0 := y[i1];", false, false},
    {"y[i1] := v0;", true, true},
    // Loops inside.
    {"for i2 = 0 to 7 { x[i1, i2] := x[i1, 0]; }", false, true},
    {"for i2 = 0 to 3 { x[i2, i1] := x[i2, i1] + y[i2]; }", false, true},
    {"for i2 = 0 to 3 { x[i2, i1] := x[i1, i2]; }", false, false},
    {"for i2 = 0 to 1 { y[2*i1 + i2] := x[i1, i2]; }", false, true},
    {"for i2 = 0 to 2 { y[i1 + i2] := 1; }", false, false},
    {"for i2 = 0 to 3 { for i3 = 0 to 3 { w[16*i1 + 4*i2 + i3] := 1; } }",
     false, true},
    {"for i2 = 0 to 3 { for i3 = 0 to 4 { w[15*i1 + 4*i2 + i3] := 1; } }",
     false, false},
    // All of a buffer; private ones.
    {"zero_out x;", false, false},
    {"zero_out p; p[i1] := p[i1] + 1; x[i1, 0] := p[i1];", false, true},
    {"p[0] := y[i1]; x[i1, 0] := p[0];", false, true},
    {"p[i1] := y[i1]; x[i1, 0] := p[i1];", true, true},
    {"p[0] := p[0] + y[i1];", false, false},
    {"x[i1, 0] := p[0]; p[0] := y[i1];", false, false},
};

TEST(DependenceTest, Loops) {
  for (const LoopCase& c : kLoopCases) {
    LoopProgram program =
        ParseWith(absl::StrCat("for i1 = 0 to 3 {", c.body, "}\n"));
    EXPECT_EQ(CanRunAsLanes(program, LastLoop(program)), c.lanes) << c.body;
    EXPECT_EQ(IsParallel(program, LastLoop(program)), c.parallel) << c.body;
  }
}

TEST(DependenceTest, WhatAPrivateBufferHoldsIsReadOutsideOfTheLoop) {
  LoopProgram program = ParseWith(
      "for i0 = 0 to 0 { for i1 = 0 to 3 { p[0] := y[i1]; } y[0] := p[0]; }");
  const For& inner = std::get<For>(LastLoop(program).body.stmts[0]);
  EXPECT_FALSE(IsParallel(program, inner));
}

TEST(DependenceTest, OneIterationIsParallel) {
  LoopProgram program = ParseWith("for i1 = 0 to 0 { y[0] := y[0] + 1; }");
  EXPECT_TRUE(IsParallel(program, LastLoop(program)));
  EXPECT_TRUE(CanRunAsLanes(program, LastLoop(program)));
}

struct PairCase {
  std::string body;
  bool can;
};

TEST(DependenceTest, Interchange) {
  const PairCase kCases[] = {
      {"z[i1, i2] := 1;", true},
      {"z[i1, i2] := z[i2, i1];", false},
      {"y[i1] := y[i1] + z[i1, i2];", true},
      {"y[0] := y[0] + z[i1, i2];", false},
      {"y[i1 + i2] := y[i1 + i2] + 1;", false},
      {"w[16*i1 + i2 + 1] := w[16*i1 + i2];", true},
      {"w[3*i1 + i2 + 1] := w[3*i1 + i2];", false},
      {"v0 := v0 + z[i1, i2];", false},
      {"for i3 = 0 to 3 { w[16*i1 + 4*i2 + i3] := z[i1, i3]; }", true},
      {"} y[i1] := 1; for i4 = 0 to 3 { y[4] := 1;", false},
  };
  for (const PairCase& c : kCases) {
    LoopProgram program = ParseWith(
        absl::StrCat("for i1 = 0 to 3 { for i2 = 0 to 3 {", c.body, "} }\n"));
    EXPECT_EQ(!WhyNotInterchange(program, LastLoop(program)), c.can) << c.body;
  }
}

TEST(DependenceTest, Fuse) {
  const PairCase kCases[] = {
      {"for i1 = 0 to 3 { y[i1] := 1; } for i2 = 0 to 3 { x[i2, 0] := y[i2]; }",
       true},
      {"for i1 = 0 to 3 { y[i1] := 1; } for i2 = 0 to 2 { x[i2, 0] := y[i2]; }",
       false},
      {"for i1 = 0 to 3 { y[i1] := 1; } for i2 = 0 to 3 { x[i2, 0] := y[3]; }",
       false},
      {"for i1 = 0 to 3 { y[i1] := 1; } for i2 = 0 to 3 { y[i2 + 1] := 2; }",
       false},
      {"for i1 = 0 to 3 { y[i1] := 1; } for i2 = 0 to 3 { y[i2 + 4] := 2; }",
       true},
      {"for i1 = 0 to 3 { y[i1] := x[0, i1]; } "
       "for i2 = 0 to 3 { x[i2, 3] := 2; }",
       false},
      {"for i1 = 0 to 3 { for i3 = 0 to 3 { z[i1, i3] := 1; } } "
       "for i2 = 0 to 3 { for i4 = 0 to 3 { w[16*i2 + i4] := z[i2, 3 - i4]; } "
       "}",
       true},
      {"for i1 = 0 to 3 { y[i1] := v0; } for i2 = 0 to 3 { v0 := y[i2]; }",
       false},
      {"for i1 = 0 to 3 { y[i1] := 1; } for i2 = 0 to 3 { zero_out y; }",
       false},
  };
  for (const PairCase& c : kCases) {
    LoopProgram program = ParseWith(c.body);
    const std::vector<Stmt>& stmts = program.body.stmts;
    const For& first = std::get<For>(stmts[stmts.size() - 2]);
    EXPECT_EQ(!WhyNotFuse(program, first, LastLoop(program)), c.can) << c.body;
  }
}

}  // namespace
}  // namespace ocannl
