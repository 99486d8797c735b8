// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/verify.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

absl::Status VerifyText(const std::string& body) {
  absl::StatusOr<LoopProgram> program = Parse(
      "p (s : [0..3], free):\n in x : f32[4]; inout w : f32[4];\n" + body);
  return program.ok() ? Verify(*program) : program.status();
}

std::string Message(const std::string& body) {
  return std::string(VerifyText(body).message());
}

TEST(VerifyTest, IndicesStayInside) {
  EXPECT_THAT(VerifyText("for i0 = 0 to 3 { w[-i0 + 3] := x[s]; }"), IsOk());
  EXPECT_EQ(Message("for i0 = 0 to 3 {\n w[i0] := x[i0 + s];\n}"),
            "index 0 of `x[s + i0]` runs from 0 to 6, but the axis has size "
            "4; keep it from 0 to 3\n"
            "  in: w[i0] := x[s + i0];");
  EXPECT_THAT(Message("for i0 = 0 to 3 { w[i0 - 1] := 0; }"),
              HasSubstr("runs from -1 to 2"));
  EXPECT_THAT(Message("w[0] := x[free];"), HasSubstr("`free` has no range"));
}

TEST(VerifyTest, IteratorsAndLocalsHaveScopes) {
  EXPECT_THAT(Message("for i0 = 0 to 3 { w[i0] := 0; } w[i0] := 1;"),
              HasSubstr("iterator i0 is used outside its loop"));
  EXPECT_THAT(Message("for i0 = 0 to 3 { let v : f32 := 0; } w[0] := v;"),
              HasSubstr("local `v` is used where it is not declared"));
  EXPECT_THAT(VerifyText("for i0 = 0 to 3 { let v : f32 := 0;"
                         " for i1 = 0 to 3 { v := v + x[i1]; } w[i0] := v; }"),
              IsOk());
}

TEST(VerifyTest, OneLoopWritesAPartAndAnIterationTheOther) {
  auto text = [](int last) {
    return absl::StrCat("temp t : f32[2, 4];",
                        "for i0 = 0 to 1 { for i1 = 0 to ", last,
                        " { t[i0, i1] := 1; } }",
                        "for i2 = 0 to 1 { for i4 = 0 to 0 {"
                        " t[i2, i4 + 3] := 1; }"
                        " for i3 = 0 to 3 { w[i3] := t[i2, i3]; } }");
  };
  EXPECT_THAT(VerifyText(text(2)), IsOk());
  EXPECT_THAT(Message(text(1)), HasSubstr("`t[i2, i3]` is read before"));
}

TEST(VerifyTest, WritesComeBeforeReads) {
  EXPECT_THAT(Message("x[0] := 1;"), HasSubstr("in buffer"));
  EXPECT_THAT(Message("temp t : f32[4]; w[0] := t[0];"),
              HasSubstr("`t[0]` is read before it is written"));
  EXPECT_THAT(VerifyText("temp t : f32[4]; zero_out t; w[0] := t[0];"), IsOk());
  EXPECT_THAT(VerifyText("temp t : f32[4]; for i0 = 0 to 3 { t[i0] := 1; }"
                         " w[0] := t[2];"),
              IsOk());
  EXPECT_THAT(VerifyText("temp t : f32[4]; for i0 = 0 to 3 { t[i0] := 1;"
                         " w[i0] := t[i0]; }"),
              IsOk());
  EXPECT_THAT(Message("temp t : f32[4]; for i0 = 0 to 3 { t[i0] := 1;"
                      " w[i0] := t[-i0 + 3]; }"),
              HasSubstr("read before it is written"));
  EXPECT_THAT(Message("temp t : f32[4]; for i0 = 0 to 2 { t[i0] := 1; }"
                      " w[0] := t[3];"),
              HasSubstr("read before it is written"));
  EXPECT_THAT(Message("out y : f32[4]; y[2] := 1;"),
              HasSubstr("out buffer `y` is not written everywhere"));
}

TEST(VerifyTest, LookupsReadAnyCellOfTheAxis) {
  const std::string t = "temp t : f32[4, 2]; in ids : u8[9]; ";
  const std::string half =
      t + "for i0 = 0 to 3 { t[i0, 0] := 1; } for i1 = 0 to 3 {";
  EXPECT_THAT(VerifyText(half + "w[i1] := t[ids[i1], 0]; }"), IsOk());
  EXPECT_THAT(Message(half + "w[i1] := t[ids[i1], 1]; }"),
              HasSubstr("read before it is written"));
  EXPECT_THAT(Message(half + "w[i1] := t[0, ids[i1]]; }"),
              HasSubstr("read before it is written"));
  EXPECT_THAT(Message(half + "w[i1] := t[ids[i1 + 6], 0]; }"),
              HasSubstr("index 0 of `ids[i1 + 6]` runs from 6 to 9"));
  EXPECT_THAT(Message(half + "w[i1] := t[ids[i1], i1]; }"),
              HasSubstr("runs from 0 to 3, but the axis has size 2"));
  EXPECT_THAT(Message("temp k : i64[1]; w[0] := x[k[0]];"),
              HasSubstr("`k[0]` is read before it is written"));
  EXPECT_THAT(Message("in k : bool[1]; w[0] := x[k[0]];"),
              HasSubstr("`k` holds indices of `x`, but is bool"));
}

TEST(VerifyTest, ScattersWriteNoCellForSure) {
  const std::string t = "temp t : f32[4, 2]; in ids : u8[4]; ";
  const std::string loop = "for i1 = 0 to 3 {";
  EXPECT_THAT(VerifyText(t + "zero_out t;" + loop +
                         "t[ids[i1], 1] := t[ids[i1], 1] + 1; }"),
              IsOk());
  EXPECT_THAT(Message(t + loop + "t[ids[i1], 0] := 1; }"),
              HasSubstr("`t[ids[i1], 0]` is written to by index before it is "
                        "written; start with zero_out t"));
  EXPECT_THAT(Message(t + "for i0 = 0 to 3 { t[i0, 0] := 1; }" + loop +
                      "t[ids[i1], 0] := 2; t[ids[i1], 1] := 2; }"),
              HasSubstr("in: t[ids[i1], 1] := 2;"));
  EXPECT_THAT(Message("inout y : f32[4]; in k : f32[4]; y[k[0]] := 1;"),
              HasSubstr("`k` holds indices of `y`, but is f32"));
}

TEST(VerifyTest, PrivateBuffersBelongToOneStatement) {
  const std::string t = "private t : f32[4]; ";
  EXPECT_THAT(VerifyText(t + "for i0 = 0 to 3 { t[i0] := 1; w[i0] := t[i0]; }"),
              IsOk());
  EXPECT_THAT(Message(t + "t[0] := 1; w[0] := t[0];"),
              HasSubstr("`t` is private, but more than one statement"));
  EXPECT_THAT(Message(t + "for i0 = 0 to 3 { t[i0] := 1; } zero_out t;"),
              HasSubstr("declare it temp\n  in: zero_out t;"));
}

TEST(VerifyTest, PrivateBuffersBelongToOneParIteration) {
  const std::string before =
      " t : f32[1]; for i0 = 0 to 3 { t[0] := 1;"
      " par i1 = 0 to 3 { w[i1] := t[0]; } }";
  EXPECT_THAT(VerifyText("temp" + before), IsOk());
  EXPECT_THAT(Message("private" + before),
              HasSubstr("`t[0]` is read before it is written"));
  EXPECT_THAT(Message("private t : f32[1]; for i0 = 0 to 3 { t[0] := 1;"
                      " par i1 = 0 to 3 { w[i1] := 0; } w[0] := t[0]; }"),
              HasSubstr("`t[0]` is read before it is written"));
  EXPECT_THAT(VerifyText("private t : f32[1]; for i0 = 0 to 3 {"
                         " par i1 = 0 to 3 { t[0] := 1; w[i1] := t[0]; }"
                         " t[0] := 2; w[0] := t[0]; }"),
              IsOk());
}

TEST(VerifyTest, NamesAreUnique) {
  EXPECT_THAT(Message("let x : f32 := 0;"),
              HasSubstr("name of something else"));
  EXPECT_THAT(Message("temp t : f32[0];"), HasSubstr("axis of size 0"));
  EXPECT_THAT(Message("temp t : f32[1099511627776, 1099511627776];"),
              HasSubstr("over 2^46 bytes"));
}

}  // namespace
}  // namespace ocannl
