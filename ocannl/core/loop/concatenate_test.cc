// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/concatenate.h"

#include "gtest/gtest.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

// Stand for memory.
const int kX = 0, kY = 0, kZ = 0, kW = 0;

TEST(ConcatenateTest, SharesArraysAndNothingElse) {
  LoopProgram first = MustParse(R"(
first (k : [0..9], n):
  in x : f32[10, 4];
  out y : f32[4];
  temp t : f32[4];
  for i0 = 0 to 3 { t[i0] := x[k, i0] + f32([n]); }
  for i1 = 0 to 3 { let v : f32 := t[i1]; y[i1] := v * v; }
)");
  LoopProgram second = MustParse(R"(
second (k : [0..2]):
  in y : f32[4];
  inout log : f32[3];
  inout x : f32[10, 4];
  temp t : f32[1];
  t[0] := y[0];
  for i0 = 0 to 3 { let v : f32 := y[i0]; x[k, i0] := v + t[0]; }
  log[k] := t[0];
)");
  Concatenation both = Concatenate(
      "both", {{.program = &first, .bound_to = {&kX, &kY, nullptr}},
               {.program = &second, .bound_to = {&kY, &kZ, &kX, nullptr}}});
  EXPECT_THAT(Verify(both.program), IsOk());
  EXPECT_EQ(Print(both.program), R"(both (k : [0..9], n, k_2 : [0..2]):
  inout x : f32[10, 4];
  out y : f32[4];
  temp t : f32[4];
  inout log : f32[3];
  temp t_2 : f32[1];
  for i0 = 0 to 3 {
    t[i0] := x[k, i0] + f32([n]);
  }
  for i1 = 0 to 3 {
    let v : f32 := t[i1];
    y[i1] := v * v;
  }
  t_2[0] := y[0];
  for i2 = 0 to 3 {
    let v_2 : f32 := y[i2];
    x[k_2, i2] := v_2 + t_2[0];
  }
  log[k_2] := t_2[0];
)");
  ASSERT_EQ(both.origins.size(), 5);
  EXPECT_EQ(both.origins[{3}].part, 1);
  EXPECT_EQ(both.origins[{3}].buffer, BufferId{1});
}

TEST(ConcatenateTest, RolesTellWhatIsReadFirst) {
  LoopProgram reads =
      MustParse("r (): in a : f32[1]; out b : f32[1]; b[0] := a[0];");
  LoopProgram writes = MustParse("w (): out a : f32[1]; a[0] := 1;");
  auto role_of_a = [](const LoopProgram& first, const LoopProgram& then) {
    auto part = [](const LoopProgram& program) {
      return ProgramPart{.program = &program, .bound_to = {&kX, &kW}};
    };
    return Concatenate("c", {part(first), part(then)})
        .program.buffers[{0}]
        .role;
  };
  EXPECT_EQ(role_of_a(reads, writes), Role::kInOut);
  EXPECT_EQ(role_of_a(writes, reads), Role::kOut);
  EXPECT_EQ(role_of_a(reads, reads), Role::kIn);
  EXPECT_EQ(role_of_a(writes, writes), Role::kOut);
}

// The iterators have numbers that names of static indices may have had.
TEST(ConcatenateTest, StaticIndicesAreNoIterators) {
  LoopProgram writes = MustParse(
      "w (i1, i2, s): out a : f32[4];"
      "for i0 = 0 to 3 { a[i0] := f32([i0 + i1 + i2 + s]); }");
  ProgramPart part{.program = &writes, .bound_to = {&kX}};
  Concatenation all = Concatenate("c", {part, part, part});
  EXPECT_THAT(Verify(all.program), IsOk()) << Print(all.program);
  EXPECT_THAT(Parse(Print(all.program)), IsOk()) << Print(all.program);
}

// One name for two arrays of two contexts.
TEST(ConcatenateTest, OtherMemoryIsAnotherBuffer) {
  LoopProgram writes = MustParse("w (): out a : f32[1]; a[0] := 1;");
  Concatenation both =
      Concatenate("c", {{.program = &writes, .bound_to = {&kX}},
                        {.program = &writes, .bound_to = {&kY}}});
  EXPECT_EQ(Print(both.program), R"(c ():
  out a : f32[1];
  out a_2 : f32[1];
  a[0] := 1;
  a_2[0] := 1;
)");
}

}  // namespace
}  // namespace ocannl
