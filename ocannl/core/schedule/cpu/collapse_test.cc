// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/schedule/cpu/collapse.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

LoopProgram Program(absl::string_view text) {
  return MustParse(absl::StrCat("p ():\n", text));
}

std::string Same(absl::string_view text) { return Print(Program(text)); }

std::string Collapsed(absl::string_view text) {
  LoopProgram merged = Program(text);
  const bool collapsed = *CollapseLoops(merged, nullptr);
  CHECK_OK(Verify(merged));
  EXPECT_EQ(collapsed, Print(merged) != Same(text));
  return Print(merged);
}

TEST(CollapseTest, LoopsOverAxesSideBySide) {
  EXPECT_EQ(Collapsed("in x : f32[8, 30, 3]; out y : f32[8, 30, 3];"
                      "for i0 = 0 to 7 { for i1 = 0 to 29 { for i2 = 0 to 2 {"
                      "  y[i0, i1, i2] := x[i0, i1, i2] + 1; } } }"),
            // 90 fills vectors well enough.
            Same("in x : f32[8, 90]; out y : f32[8, 90];"
                 "for i0 = 0 to 7 { for i1 = 0 to 89 {"
                 "  y[i0, i1] := x[i0, i1] + 1; } }"));
}

TEST(CollapseTest, CollapsedLoopsCollapseAgain) {
  EXPECT_EQ(Collapsed("out y : f32[8, 3, 3];"
                      "for i0 = 0 to 7 { for i1 = 0 to 2 { for i2 = 0 to 2 {"
                      "  y[i0, i1, i2] := 1; } } }"),
            Same("out y : f32[72]; for i0 = 0 to 71 { y[i0] := 1; }"));
}

TEST(CollapseTest, Contraction) {
  EXPECT_EQ(
      Collapsed("in a : f32[5, 7]; in b : f32[7, 4, 3]; inout y : f32[5, 4, 3];"
                "for i0 = 0 to 4 { for i1 = 0 to 3 { for i2 = 0 to 2 {"
                "  for i3 = 0 to 6 { y[i0, i1, i2] :="
                "    fma(a[i0, i3], b[i3, i1, i2], y[i0, i1, i2]); } } } }"),
      Same("in a : f32[5, 7]; in b : f32[7, 12]; inout y : f32[5, 12];"
           "for i0 = 0 to 4 { for i1 = 0 to 11 { for i3 = 0 to 6 {"
           "  y[i0, i1] := fma(a[i0, i3], b[i3, i1], y[i0, i1]); } } }"));
}

TEST(CollapseTest, RowsOfALargerArray) {
  EXPECT_EQ(Collapsed("in x : f32[9, 3]; out y : f32[4, 3];"
                      "for i0 = 0 to 3 { for i1 = 0 to 2 {"
                      "  y[i0, i1] := x[i0 + 5, i1]; } }"),
            Same("in x : f32[27]; out y : f32[12];"
                 "for i0 = 0 to 11 { y[i0] := x[i0 + 15]; }"));
}

// Whatever needs one of the two iterators, or one of the two axes, alone.
TEST(CollapseTest, OtherUsesForbidIt) {
  for (absl::string_view text : {
           // A bias; an index as a number; a transposed read; a part of rows.
           "in b : f32[3]; out y : f32[8, 3]; for i0 = 0 to 7 {"
           "  for i1 = 0 to 2 { y[i0, i1] := b[i1]; } }",
           "out y : f32[8, 3]; for i0 = 0 to 7 { for i1 = 0 to 2 {"
           "  y[i0, i1] := f32([i0]); } }",
           "in x : f32[3, 8]; out y : f32[8, 3]; for i0 = 0 to 7 {"
           "  for i1 = 0 to 2 { y[i0, i1] := x[i1, i0]; } }",
           "in x : f32[8, 5]; out y : f32[8, 3]; for i0 = 0 to 7 {"
           "  for i1 = 0 to 2 { y[i0, i1] := x[i0, i1]; } }",
           "in x : f32[8, 4]; out y : f32[8, 3]; for i0 = 0 to 7 {"
           "  for i1 = 0 to 2 { y[i0, i1] := x[i0, i1 + 1]; } }",
           // A loop around more than a loop, and one that is promised.
           "out y : f32[8, 3]; out z : f32[8]; for i0 = 0 to 7 { z[i0] := 1;"
           "  for i1 = 0 to 2 { y[i0, i1] := 2; } }",
           "out y : f32[8, 3]; par i0 = 0 to 7 { for i1 = 0 to 2 {"
           "  y[i0, i1] := 2; } }",
           // Another statement, through a temp.
           "in b : f32[3]; out y : f32[8, 3]; temp t : f32[8, 3];"
           "for i0 = 0 to 7 { for i1 = 0 to 2 { t[i0, i1] := 2; } }"
           "for i2 = 0 to 7 { for i3 = 0 to 2 {"
           "  y[i2, i3] := t[i2, i3] * b[i3]; } }",
           // Axes that fill vectors.
           "out y : f32[8, 32]; for i0 = 0 to 7 { for i1 = 0 to 31 {"
           "  y[i0, i1] := 2; } }",
       }) {
    EXPECT_EQ(Collapsed(text), Same(text)) << text;
  }
}

// An iterator that is inside of one pair and outside of another one.
TEST(CollapseTest, PairsThatOverlap) {
  const char* text =
      "out y : f32[8, 3]; out z : f32[3, 5];"
      "for i0 = 0 to 7 { for i1 = 0 to 2 { for i2 = 0 to 4 {"
      "  y[i0, i1] := 1; z[i1, i2] := 2; } } }";
  EXPECT_EQ(Collapsed(text), Same(text));
}

// Loops that only repeat stay, whatever else collapses.
TEST(CollapseTest, LoopsThatNoIndexNeeds) {
  EXPECT_EQ(
      Collapsed("inout s : f32[1]; out y : f32[8, 3];"
                "for i0 = 0 to 4 { for i1 = 0 to 2 { for i2 = 0 to 6 {"
                "  s[0] := s[0] + 1; } } }"
                "for i3 = 0 to 7 { for i4 = 0 to 2 { y[i3, i4] := 1; } }"),
      Same("inout s : f32[1]; out y : f32[24];"
           "for i0 = 0 to 4 { for i1 = 0 to 2 { for i2 = 0 to 6 {"
           "  s[0] := s[0] + 1; } } }"
           "for i3 = 0 to 23 { y[i3] := 1; }"));
}

TEST(CollapseTest, ArraysThatNothingTouchesStay) {
  const char* text = "in x : f32[8, 3]; out y : f32[8, 3]; zero_out y;";
  EXPECT_EQ(Collapsed(text), Same(text));
}

}  // namespace
}  // namespace ocannl
