// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/trial.h"

#include "gtest/gtest.h"
#include "ocannl/fuzz/rewriting_backend.h"
#include "ocannl/interp/interp_backend.h"
#include "tests/support/must_parse.h"

namespace ocannl::fuzz {
namespace {

// What a backend that runs `other` differs in from `program`.
std::string Try(absl::string_view program, absl::string_view other) {
  LoopProgram parsed = MustParse(program);
  interp::InterpBackend interp;
  RewritingBackend backend(
      "other", [&](LoopProgram) { return MustParse(other); }, &interp);
  return Trial(parsed, FillKind::kSmallIntegers, 1).Try(backend);
}

TEST(TrialTest, ComparesWhatARunLeaves) {
  constexpr absl::string_view kProgram =
      "p (): temp t : f32[]; out y : f32[2, 2]; inout z : f32[]; t[] := 1; "
      "y[0, 0] := 1; y[0, 1] := 2; y[1, 0] := t[]; y[1, 1] := 4;";
  // Temporaries may end as anything, and need not be there.
  EXPECT_EQ(Try(kProgram,
                "p (): out y : f32[2, 2]; inout z : f32[]; y[0, 0] := 1; "
                "y[0, 1] := 2; y[1, 0] := 1; y[1, 1] := 4;"),
            "");
  EXPECT_EQ(Try(kProgram,
                "p (): out y : f32[2, 2]; inout z : f32[]; y[0, 0] := 1; "
                "y[0, 1] := 2; y[1, 0] := -1; y[1, 1] := 5;"),
            "y[1, 0] is -1 (bits 0xbf800000), not 1 (bits 0x3f800000); 2 of 4 "
            "cells differ");
  EXPECT_NE(Try(kProgram,
                "p (): out y : f32[2, 2]; inout z : f32[]; y[0, 0] := 1; "
                "y[0, 1] := 2; y[1, 0] := 1; y[1, 1] := 4; z[] := 77;"),
            "");
}

TEST(TrialTest, WhatIsNotWrittenDiffers) {
  EXPECT_NE(Try("p (): out y : f32[2]; y[0] := 1; y[1] := 2;",
                "p (): inout y : f32[2]; y[0] := 1;"),
            "");
}

TEST(WritableExecutableMappingTest, ThereIsNone) {
  EXPECT_EQ(WritableExecutableMapping(), "");
}

}  // namespace
}  // namespace ocannl::fuzz
