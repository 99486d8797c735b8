// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/parse.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using ::testing::HasSubstr;

// Everything the language has, as Print writes it.
constexpr char kProgram[] = R"(all.of_it (batch : [0..3], step):
  in x : f32[4, 8];
  in n : i64[8];
  inout w : f64[8];
  out y : f32[8];
  temp t : bool[1, 1];
  private r : f32[];
  /* a comment */
  zero_out y;
  for i0 = 0 to 7 {
    vec i1 = 0 to 0 {
      y[i0] := fma(x[batch, -i0 + 7], 0.5, y[i0 + i1]);
    }
    let v1 : f32 := max(y[i0] - -0.5, -inf);
    v1 := select(v1 < nan, v1, f32(w[i0]));
    y[i0] := v1;
    w[i0] := (f64(v1) * 0.1:f64) / f64([2*i0 - 3] + n[i0]);
  }
  par i5 = 0 to 0 {
    unroll i7 = 0 to 0 {
      t[i5, i7] := not(true & (bits_u32(y[0]) == 4294967295:u32));
    }
  }
  r[] := 0;
  y[3] := f32([step] << 2:i64) - -y[2];
)";

TEST(ParseTest, PrintOfParseIsTheText) {
  absl::StatusOr<LoopProgram> program = Parse(kProgram);
  ASSERT_THAT(program, IsOk());
  std::string text = Print(*program);
  absl::StatusOr<LoopProgram> again = Parse(text);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(Print(*again), text);
  EXPECT_EQ(text, std::string(kProgram).replace(
                      std::string(kProgram).find("- -y[2]"), 7, "- neg(y[2])"));
  EXPECT_THAT(Verify(*program), IsOk());
}

std::string Value(const std::string& value) {
  absl::StatusOr<LoopProgram> program = Parse(
      "p ():\n in a : f32[]; in b : f32[]; in c : f32[]; in n : i32[];"
      "\n out y : f32[];\n y[] := " +
      value + ";");
  if (!program.ok()) return std::string(program.status().message());
  return PrintValue(*program, std::get<Set>(program->body.stmts[0]).value);
}

TEST(ParseTest, PrecedenceIsThatOfC) {
  EXPECT_EQ(Value("a[] + b[] * c[] - a[]"), "(a[] + (b[] * c[])) - a[]");
  EXPECT_EQ(Value("(a[] + b[]) * c[]"), "(a[] + b[]) * c[]");
  EXPECT_EQ(Value("-a[] * b[]"), "neg(a[]) * b[]");
  EXPECT_EQ(Value("select(a[] + 1 < b[] & true, 1e-10, 3)"),
            "select(((a[] + 1) < b[]) & true, 1e-10, 3)");
}

TEST(ParseTest, ErrorsNameThePlaceAndTheMend) {
  EXPECT_EQ(Value("a[] + n[]"),
            "line 4, column 13: `+` takes numbers of one type, but it was "
            "given (f32, i32); convert the operands");
  EXPECT_EQ(Value("n[]"),
            "line 4, column 9: `y` is f32, but the value is i32; write "
            "f32(value)");
  EXPECT_THAT(Value("d"), HasSubstr("no local `d`"));
  EXPECT_THAT(Value("d[]"), HasSubstr("no buffer `d`; declare it"));
  EXPECT_THAT(Value("foo(a[])"), HasSubstr("no operation `foo`"));
  EXPECT_THAT(Value("1e40"), HasSubstr("`1e40` is not a number that f32 can"));
  EXPECT_THAT(Value("a[i3]"), HasSubstr("`i3` is neither an iterator nor"));
  EXPECT_THAT(Value("a[0]"), HasSubstr("`a` has 0 axes, not 1; write a[]"));
  EXPECT_THAT(Value("a[] +"), HasSubstr("expected a value, found `;`"));
  EXPECT_THAT(Value("$"), HasSubstr("found a stray `$`"));
  EXPECT_THAT(Value("max(a[])"), HasSubstr("`max` takes 2 operands"));
  EXPECT_THAT(Value(std::string(1000, '(')), HasSubstr("nested too deeply"));
}

TEST(ParseTest, WordsInQuotesAreNames) {
  const std::string text = R"("for" ("par"):
  in "in" : f32[2];
  out "true" : f32[2];
  for i0 = 0 to 1 {
    let "inf" : f32 := "in"[i0] + neg("in"[0]);
    "inf" := select(true, "inf", inf);
    "true"[i0] := "inf";
  }
  zero_out "true";
)";
  absl::StatusOr<LoopProgram> program = Parse(text);
  ASSERT_THAT(program, IsOk());
  EXPECT_THAT(Verify(*program), IsOk());
  EXPECT_EQ(Print(*program), text);
  EXPECT_EQ(program->buffers[{0}].name, "in");
  EXPECT_THAT(Parse("p ():\n in in : f32[];").status().message(),
              HasSubstr("found the word `in`; a name is written \"in\""));
}

TEST(ParseTest, ShortTextsNeverCrash) {
  const std::string text(kProgram);
  for (size_t n = 0; n < text.size(); ++n) {
    Parse(text.substr(0, n)).status().IgnoreError();
    std::string changed = text;
    changed[n] ^= 1 << (n % 7);
    absl::StatusOr<LoopProgram> program = Parse(changed);
    if (program.ok()) Verify(*program).IgnoreError();
  }
}

}  // namespace
}  // namespace ocannl
