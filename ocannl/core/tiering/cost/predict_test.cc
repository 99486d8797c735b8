// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/tiering/cost/predict.h"

#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

Prediction Of(const std::string& statements) {
  return Predict(MustParse(
      "p ():\n  in x : f32[100, 8];\n  out y : f32[100, 8];\n" + statements));
}

// A statement is a load, a multiplication and a store.
TEST(PredictTest, CountsRunsAndCopiesOfStatements) {
  Prediction one = Of("y[0, 0] := x[0, 0] * 2;");
  EXPECT_EQ(one.operations, 3);
  EXPECT_EQ(one.instructions, 3);
  Prediction loops = Of(
      "for i0 = 0 to 99 { for i1 = 0 to 7 { y[i0, i1] := x[i0, i1] * 2; } }");
  EXPECT_EQ(loops.operations, 2400);
  EXPECT_EQ(loops.instructions, 150);
  Prediction long_loop = Of(
      "for i0 = 0 to 99999 { for i1 = 0 to 7 { y[0, i1] := x[0, i1] * 2; } }");
  EXPECT_EQ(long_loop.operations, 2'400'000);
  EXPECT_EQ(long_loop.instructions, 3 * 192);
}

TEST(PredictTest, ZeroOutCountsTheCells) {
  EXPECT_EQ(Of("zero_out y;").operations, 51);
}

TEST(PredictTest, AnFmaIsTwoFlops) {
  EXPECT_EQ(Of("y[0, 0] := fma(x[0, 0], 2, y[0, 0]) - 1;").flops, 3);
  EXPECT_EQ(Of("y[0, 0] := fma(x[0, 0], 2, y[0, 0]) - 1;").arithmetic, 3);
}

TEST(PredictTest, DerivedFunctionsCountWhatTheyHold) {
  EXPECT_GT(Of("y[0, 0] := exp(x[0, 0]);").operations, 10);
}

}  // namespace
}  // namespace ocannl
