// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/gpu/vector_access.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/walk.h"
#include "tests/support/must_parse.h"

namespace ocannl::gpu {
namespace {

// Of the only `vec` loop, i1, around the statements, in a loop over i0.
std::optional<VectorAccesses> Find(const std::string& statements,
                                   int lanes = 4) {
  const LoopProgram program = MustParse(absl::StrCat(
      "p (n : [0..3]):\n  in x : f32[4, 24];\n  in odd : f32[4, 6];\n",
      "  in d : f64[24];\n  in s : f32[];\n  in rows : i32[24];\n",
      "  inout y : f32[24];\n  inout u : u8[64];\n",
      "  for i0 = 0 to 3 { vec i1 = 0 to ", lanes - 1, " { ", statements,
      " } }\n"));
  std::optional<VectorAccesses> found;
  WalkLoops(program.body, [&](const For& loop) {
    if (loop.kind == LoopKind::kVec) found = FindVectorAccesses(program, loop);
  });
  return found;
}

TEST(VectorAccessTest, CellsSideBySide) {
  const auto found =
      Find("y[4*i0 + i1] := fma(x[n, 4*i0 + i1], s[], y[4*i0 + i1]);");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->reads.size(), 2);
  EXPECT_EQ(found->writes.size(), 1);
  EXPECT_TRUE(found->is_all);
}

TEST(VectorAccessTest, NotWhereTheFirstIsAtNoMultiple) {
  // An offset, rows of six cells, rows that a static index counts.
  for (const char* read : {"x[0, 4*i0 + i1 + 2]", "x[0, 6*i0 + i1]",
                           "odd[i0, i1]", "odd[n, i1]"}) {
    const auto found = Find(absl::StrCat("y[4*i0 + i1] := ", read, ";"));
    ASSERT_TRUE(found) << read;
    EXPECT_TRUE(found->reads.empty()) << read;
    EXPECT_FALSE(found->is_all) << read;
  }
  EXPECT_FALSE(Find("y[4*i0 + i1 + 1] := x[0, 4*i0 + i1];"));
}

TEST(VectorAccessTest, UpTo16Bytes) {
  EXPECT_TRUE(Find("u[16*i0 + i1] := u8(0);", 16));
  EXPECT_FALSE(Find("u[3*i0 + i1] := u8(0);", 3));
  EXPECT_FALSE(Find("y[8*i0 + i1] := 0;", 8));
  const auto found = Find("y[4*i0 + i1] := f32(d[4*i0 + i1]);");
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->is_all);
}

TEST(VectorAccessTest, OneAccessOfWhatIsWritten) {
  EXPECT_FALSE(Find("y[4*i0 + i1] := y[4*i0 + i1 + 4];"));
  EXPECT_FALSE(Find("y[4*i0 + i1] := y[4*i0];"));
  EXPECT_FALSE(Find("y[4*i0 + i1] := x[rows[i1], 4*i0 + i1];"));
  // What was written before is not read from memory.
  const auto found =
      Find("y[4*i0 + i1] := 1; u[4*i0 + i1] := u8(y[4*i0 + i1]);");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->reads.empty());
  EXPECT_EQ(found->writes.size(), 2);
}

}  // namespace
}  // namespace ocannl::gpu
