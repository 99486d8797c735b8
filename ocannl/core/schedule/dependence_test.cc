// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/dependence.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"

namespace ocannl {
namespace {

struct Case {
  std::string body;  // of a loop over i1 from 0 to 3
  bool lanes;
  bool parallel;
};

const Case kCases[] = {
    {"x[i1, 0] := 1;", true, true},
    {"x[i1, 0] := x[i1, 1];", true, true},
    {"x[0, i1] := x[1, i1] + x[0, i1];", true, true},
    {"x[0, 0] := x[i1, 1];", false, false},
    {"x[0, 0] := x[0, 0] + y[i1];", false, false},
    {"y[i1 + 1] := y[i1];", false, false},
    {"y[2*i1] := y[2*i1 + 1];", true, true},
    {"y[i1] := y[7 - i1];", true, true},
    {"y[i1] := y[3 - i1];", false, false},
    {"y[i1 + 4] := y[i1];", true, true},
    {"y[s] := y[i1];", false, false},
    {"x[i1, s] := x[i1, 0];", true, true},
    {"let v1 : f32 := y[i1]; y[i1] := v1;", true, true},
    {"v0 := y[i1];", false, false},
    {"for i2 = 0 to 7 { x[i1, i2] := x[i1, 0]; }", false, true},
    {"for i2 = 0 to 3 { x[i2, i1] := x[i2, i1] + y[i2]; }", false, true},
    {"for i2 = 0 to 3 { x[i2, i1] := x[i1, i2]; }", false, false},
    {"for i2 = 0 to 1 { y[2*i1 + i2] := x[i1, i2]; }", false, true},
    {"for i2 = 0 to 2 { y[i1 + i2] := 1; }", false, false},
    {"zero_out x;", false, false},
    {"p[0] := y[i1]; x[i1, 0] := p[0];", false, true},
    {"p[i1] := y[i1]; x[i1, 0] := p[i1];", true, true},
};

TEST(DependenceTest, Loops) {
  for (const Case& c : kCases) {
    auto program = Parse(absl::StrCat(
        "t (s : [0..7]):\n  inout x : f32[4, 8]; inout y : f32[8];\n"
        "  private p : f32[4];\n  let v0 : f32 := 0;\n  for i1 = 0 to 3 {",
        c.body, "}\n"));
    CHECK_OK(program);
    const For& loop = std::get<For>(program->body.stmts.back());
    EXPECT_EQ(CanRunAsLanes(*program, loop), c.lanes) << c.body;
    EXPECT_EQ(IsParallel(*program, loop), c.parallel) << c.body;
  }
}

}  // namespace
}  // namespace ocannl
