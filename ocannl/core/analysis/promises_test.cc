// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/promises.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

LoopProgram ParseWith(const std::string& body) {
  return MustParse(
      "p ():\n in x : f32[8]; inout y : f32[9]; inout s : f32[];\n" + body);
}

std::string Message(const std::string& body) {
  return std::string(VerifyPromises(ParseWith(body)).message());
}

TEST(PromisesTest, WhatIsProvedIsKept) {
  for (const std::string kind : {"par", "vec"}) {
    EXPECT_EQ(Message(kind + " i1 = 0 to 7 { y[i1] := x[i1] + y[i1]; }"), "");
    EXPECT_EQ(Message("for i0 = 0 to 1 { " + kind +
                      " i1 = 0 to 3 { y[2*i1 + i0] := y[8]; } }"),
              "");
  }
  EXPECT_EQ(Message("vec i1 = 0 to 7 { y[i1] := y[i1 + 1]; }"), "");
}

TEST(PromisesTest, LoopsOfOtherKindsPromiseNothing) {
  for (const std::string kind : {"for", "unroll"}) {
    EXPECT_EQ(Message(kind + " i1 = 0 to 7 { y[i1 + 1] := y[i1]; }"), "");
  }
}

TEST(PromisesTest, NamesTheLoopTheAccessesAndTheFix) {
  EXPECT_EQ(Message("par i1 = 0 to 7 {\n s[] := s[] + x[i1];\n}"),
            "i1 cannot run in parallel: several iterations touch and write "
            "`s[]`; make it a for loop");
  EXPECT_EQ(Message("par i1 = 0 to 7 { y[i1] := y[i1 + 1]; }"),
            "i1 cannot run in parallel: one iteration touches as `y[i1 + 1]` "
            "what another does as `y[i1]`, and one writes it; make it a for "
            "loop");
  EXPECT_EQ(Message("vec i1 = 0 to 7 { y[i1 + 1] := y[i1]; }"),
            "i1 cannot run as lanes: one iteration touches as `y[i1 + 1]` "
            "what another does as `y[i1]`, and one writes it; make it a for "
            "loop");
}

// Each iteration has a private buffer, but all have the same temp.
TEST(PromisesTest, PrivateBuffersAreOfAnIteration) {
  const std::string loop =
      " t : f32[2]; par i1 = 0 to 7 { t[0] := x[i1]; y[i1] := t[0]; }";
  EXPECT_EQ(Message("private" + loop), "");
  EXPECT_EQ(Message("temp" + loop),
            "i1 cannot run in parallel: several iterations touch and write "
            "`t[0]`; make it a for loop");
}

TEST(PromisesTest, LanesAreStraightLineCode) {
  EXPECT_THAT(Message("vec i1 = 0 to 1 { for i2 = 0 to 3 { y[i2] := 1; } }"),
              testing::HasSubstr("i1 is around another loop: only an innermost "
                                 "one can run as lanes; make it a for loop"));
  EXPECT_THAT(Message("vec i1 = 0 to 1 { zero_out y; }"),
              testing::HasSubstr("i1 cannot run as lanes: a local or a "
                                 "zero_out in it belongs to all iterations"));
}

// Statements are counted in preorder.
TEST(PromisesTest, GivesThePlace) {
  const LoopProgram program = ParseWith(
      "/* a */ for i0 = 0 to 7 { y[i0] := 1; par i1 = 0 to 1 { s[] := 1; } } "
      "vec i2 = 0 to 7 { s[] := 2; }");
  FaultPlace place;
  EXPECT_FALSE(VerifyPromises(program, &place).ok());
  EXPECT_EQ(place.stmt, 3);
}

TEST(PromisesTest, RulesOfProgramsComeFirst) {
  EXPECT_THAT(Message("par i1 = 0 to 9 { y[0] := x[i1]; }"),
              testing::HasSubstr("index 0 of `x[i1]` runs from 0 to 9"));
}

}  // namespace
}  // namespace ocannl
