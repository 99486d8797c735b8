// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/cd/parse.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/cd/equal.h"
#include "ocannl/core/cd/print.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::HasSubstr;

constexpr absl::string_view kArrays = R"(p (step : [0..3], free):
  x : f32[4, 3] on_device "data";
  y : f32[4] materialized "a result";
  h : bf16[4] virtual "\x22who\x22\nasks\\";
  ids : i32[4];
  w.grad.merge : f32[4] merge on_device "the merge buffer";
  lit : f8e4m3[2, 2] materialized "a literal" = [1, -0.5, nan, -0];
  flag : bool[] = [true];
  "in" : i64[1];
)";

std::string Text(absl::string_view statement) {
  return absl::StrCat(kArrays, "  ", statement, "\n");
}

std::string Error(absl::string_view statement) {
  const auto code = ParseCd(Text(statement));
  return code.ok() ? "" : std::string(code.status().message());
}

TEST(CdParse, PrintsWhatItReads) {
  for (absl::string_view statement : {
           R"(/* a comment */)",
           R"(y =: 0;)",
           R"(y =: y * w.grad.merge ~logic:".";)",
           R"(y =+ fma(y, 0.5, -inf) + f32(!@free);)",
           R"(y =/ select("in" == 3:i64, 1, f32([12]));)",
           R"(y =:@- x ~logic:"i, j => i";)",
           R"(y =+ x ~logic:"!@step, 2 => i";)",
           R"(y =:+ x * x ~logic:"i, j; j, i else nan => i";)",
           R"(y =:* x ~logic:"i - j + 1, j else 1 => i" ["j" = 3; "i" = 4];)",
           R"(y =: f32([3*i - !@step + 1]) ~logic:"=> i";)",
           R"(y =+ 1 ~logic:"=> i + j" ["i" = 3; "j" = 2; "k" = 5];)",
           R"(y =: x[ids] ~logic:"@, 0; i => i";)",
           R"(y[ids] =- x ~logic:"i, j; i => @";)",
           R"(h =: bits_bf16(h);)",
           R"(h =: bits_bf16(bits_u16(bits_bf16(h)) ^ 1:u16);)",
           R"(h =: h + f32(bf16(y)) ~logic:"i; i => i";)",
           R"(y =: select(flag | true, y, -0.5);)",
       }) {
    const auto code = ParseCd(Text(statement));
    ASSERT_THAT(code, IsOk()) << statement;
    const auto again = ParseCd(PrintCd(*code));
    ASSERT_THAT(again, IsOk()) << PrintCd(*code);
    EXPECT_TRUE(*again == *code) << PrintCd(*code);
  }
  EXPECT_EQ(PrintCd(*ParseCd(Text("y =+ x ~logic:\"!@step, 1 => k\";"))),
            Text("y =+ x ~logic:\"!@step, 1 => i\";"));
}

// What is printed has one form for each meaning, and no meaning is lost.
TEST(CdParse, TellsCodesApart) {
  const auto code = ParseCd(Text("y =+ x ~logic:\"i, j => i\";"));
  ASSERT_THAT(code, IsOk());
  for (absl::string_view other : {
           "y =:+ x ~logic:\"i, j => i\";",
           "y =- x ~logic:\"i, j => i\";",
           "y =+ x ~logic:\"i, 2 => i\";",
           "y =+ x + 0 ~logic:\"i, j => i\";",
           "y =+ y ~logic:\"i => i\";",
           "y =+ x ~logic:\"i, j => i\" [\"j\" = 3; \"i\" = 4];",
           "y =+ x ~logic:\"i, j => i\" [\"i\" = 4; \"j\" = 2];",
           "h =+ x ~logic:\"i, j => i\";",
       }) {
    const auto changed = ParseCd(Text(other));
    ASSERT_THAT(changed, IsOk()) << other;
    EXPECT_FALSE(*changed == *code) << other;
    EXPECT_NE(PrintCd(*changed), PrintCd(*code)) << other;
  }
  const auto same =
      ParseCd(Text("y =+ x ~logic:\"b, a => b\" [\"b\" = 4; \"a\" = 3];"));
  ASSERT_THAT(same, IsOk());
  EXPECT_TRUE(*same == *code);
}

// Values have the operators of the notation, of cells, and their names.
TEST(CdParse, ReadsTheFormsOfTheNotation) {
  const std::pair<const char*, const char*> kSame[] = {
      {"add(y, h)", "y + h"},
      {"sub(y, h)", "y - h"},
      {"mul(y, div(h, 2))", "y * (h / 2)"},
      {"mod_(y, 2)", "y % 2"},
      {"y *. h /. 2", "y * h / 2"},
      {"id(y)", "y"},
      {"f32(lt(y, h))", "f32(y < h)"},
      {"f32(eq(y, h)) + f32(ne(y, h))", "f32(y == h) + f32(y != h)"},
      {"f32(y = h) + f32(y <> h)", "f32(y == h) + f32(y != h)"},
      {"f32(y > h) + f32(y >= h)", "f32(h < y) + f32(h <= y)"},
      {"y @^ h @- 1", "max(y, min(h, 1))"},
      {"y -?/ h", "relu_gate(y, h)"},
      {"y -?^ h", "sat01_gate(y, h)"},
      {"f32(y && h < 1)", "f32((y != 0) & (h < 1))"},
      {"f32(or_(y > 0, h))", "f32((0 < y) | (h != 0))"},
      {"f32(y < 1 && h < 1 || y < h)", "f32(((y < 1) & (h < 1)) | (y < h))"},
  };
  for (const auto& [text, plain] : kSame) {
    SCOPED_TRACE(text);
    const auto code = ParseCd(Text(absl::StrCat("y =: ", text, ";")));
    ASSERT_THAT(code, IsOk());
    const auto same = ParseCd(Text(absl::StrCat("y =: ", plain, ";")));
    ASSERT_THAT(same, IsOk());
    EXPECT_EQ(PrintCd(*code), PrintCd(*same));
  }
  EXPECT_THAT(Error("y =: fst(y, 1);"), HasSubstr("is of tensors"));
  EXPECT_THAT(Error("y =: pow2(y, 1);"), HasSubstr("no operation `pow2`"));
}

TEST(CdParse, OutsideMattersWhereAnIndexLeaves) {
  auto code = [](absl::string_view slot) {
    auto parsed =
        ParseCd(Text(absl::StrCat("y =+ x ~logic:\"", slot, " => i\";")));
    EXPECT_THAT(parsed, IsOk());
    return *std::move(parsed);
  };
  EXPECT_TRUE(code("i, 0 else 1") == code("i, 0"));
  EXPECT_FALSE(code("i - 1, 0 else 1") == code("i - 1, 0"));
  EXPECT_TRUE(code("i - 1, 0 else nan") == code("i - 1, 0 else nan"));
}

TEST(CdParse, SaysWhatIsWrong) {
  EXPECT_THAT(Error("y =: z;"), HasSubstr("line 10, column 8: no array `z`"));
  EXPECT_THAT(Error("y = 1;"), HasSubstr("found `=`"));
  EXPECT_THAT(Error("y =: x ~logic:\".\";"), HasSubstr("`y` is f32[4], but"));
  EXPECT_THAT(Error("y =: x[ids];"), HasSubstr("say so by ~logic"));
  EXPECT_THAT(Error("y =: [i];"), HasSubstr("which cells go together"));
  EXPECT_THAT(Error("y =+ x ~logic:\"i, j, k => i\";"),
              HasSubstr("line 10, column 22: expected `=>`, found `,`"));
  EXPECT_THAT(Error("y =+ x ~logic:\"i, k + j => i\";"),
              HasSubstr("no axis is indexed by `k` alone"));
  EXPECT_THAT(Error("y =+ x ~logic:\"i, j => i\" [\"i\" = 4];"),
              HasSubstr("`j` is not listed"));
  EXPECT_THAT(Error("y =+ x ~logic:\"i, !@other => i\";"),
              HasSubstr("expected a static index"));
  EXPECT_THAT(Error("y =+ x ~logic:\"i, !@free => i\";"),
              HasSubstr("`free` has no range"));
  EXPECT_THAT(Error("y =+ x ~logic:\"i, !@step => i\"; y =: 1"),
              HasSubstr("axis, which has size 3"));
  EXPECT_THAT(Error("y =: x ~logic:\"i, j => i + j\";"),
              HasSubstr("index 0 of `y` leaves the axis"));
  EXPECT_THAT(Error("lit =: 1;"), HasSubstr("a literal, which nothing writes"));
  EXPECT_THAT(Error("w.grad.merge =: 1;"), HasSubstr("in the merge buffer"));
  EXPECT_THAT(Error("y[ids] =: x ~logic:\"i, 0; i => @\";"),
              HasSubstr("must accumulate"));
  EXPECT_THAT(Error("y =: x[y] ~logic:\"@, 0; i => i\";"),
              HasSubstr("indices are integers"));
  EXPECT_THAT(Error("y : f32[1];"), HasSubstr("`y` is declared twice"));
  EXPECT_THAT(Error("z : f32[2] = [1];"), HasSubstr("here are 1 numbers"));
  EXPECT_THAT(Error("z : u8[1] = [256];"), HasSubstr("`256` is not a number"));
  EXPECT_THAT(Error("z : f32[0];"), HasSubstr("the least size is 1"));
  EXPECT_THAT(Error("z : f32[2] everywhere \"a\";"), HasSubstr("everywhere"));
}

}  // namespace
}  // namespace ocannl
