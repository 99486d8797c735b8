// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/outline.h"

#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

TEST(OutlineTest, HasWhatItsStatementsName) {
  const LoopProgram program = MustParse(R"(
    p (n : [0..2]):
      in a : f32[3, 8];
      in b : i32[8];
      inout c : f32[8];
      out d : f32[8];
      for i0 = 0 to 7 { c[i0] := a[n, i0]; }
      for i1 = 0 to 7 {
        let v0 : f32 := c[i1];
        for i2 = 0 to 3 { v0 := v0 + a[0, b[i1]]; }
        d[i1] := v0 + f32([i1 + n]);
      })");
  const Outlined outlined = Outline(program, {{program.body.stmts[1]}});
  EXPECT_EQ(Print(outlined.program), Print(MustParse(R"(
    p (n : [0..2]):
      inout c : f32[8];
      in a : f32[3, 8];
      in b : i32[8];
      out d : f32[8];
      for i0 = 0 to 7 {
        let v0 : f32 := c[i0];
        for i1 = 0 to 3 { v0 := v0 + a[0, b[i0]]; }
        d[i0] := v0 + f32([n + i0]);
      })")));
  std::vector<std::string> names;
  for (BufferId id : outlined.buffers)
    names.push_back(program.buffers[id].name);
  EXPECT_EQ(names, (std::vector<std::string>{"c", "a", "b", "d"}));
}

TEST(OutlineTest, IsEqualForEqualLoops) {
  const LoopProgram program = MustParse(R"(
    p ():
      inout x : f32[4, 4];
      for i0 = 0 to 3 { for i1 = 0 to 3 { x[i0, i1] := x[i0, i1] + 1; } }
      for i3 = 0 to 3 { for i2 = 0 to 3 { x[i3, i2] := x[i3, i2] + 1; } })");
  EXPECT_EQ(Print(Outline(program, {{program.body.stmts[0]}}).program),
            Print(Outline(program, {{program.body.stmts[1]}}).program));
}

TEST(NameNestsTest, NamesEachOnceAndOneAloneNot) {
  LoopProgram program = MustParse(R"(
    p ():
      inout x : f32[4];
      /* of the user */
      zero_out x;
      let v0 : f32 := 1;
      for i0 = 0 to 3 { x[i0] := x[i0] + v0; })");
  const LoopProgram named = MustParse(R"(
    p ():
      inout x : f32[4];
      /* of the user */
      /* nest-0 */
      zero_out x;
      /* nest-1 */
      let v0 : f32 := 1;
      for i0 = 0 to 3 { x[i0] := x[i0] + v0; })");
  NameNests(program);
  EXPECT_EQ(Print(program), Print(named));
  NameNests(program);
  EXPECT_EQ(Print(program), Print(named));
  LoopProgram alone = MustParse("p (): inout x : f32[4]; zero_out x;");
  const std::string before = Print(alone);
  NameNests(alone);
  EXPECT_EQ(Print(alone), before);
}

}  // namespace
}  // namespace ocannl
