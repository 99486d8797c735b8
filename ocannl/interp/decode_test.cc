// SPDX-License-Identifier: Apache-2.0
#include "ocannl/interp/decode.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/parse.h"
#include "ocannl/interp/handlers.h"

namespace ocannl::interp {
namespace {

using testing::ElementsAre;

Bytecode MustDecode(absl::string_view text) {
  absl::StatusOr<LoopProgram> program = Parse(text);
  CHECK_OK(program);
  return Decode(*std::move(program));
}

TEST(DecodeTest, ALoopOfOneComputationIsOneInstruction) {
  Bytecode code = MustDecode(R"(
      dot ():
        in x : f32[5, 4]; in y : f32[4]; inout z : f32[5];
        for i0 = 0 to 4 {
          for i1 = 0 to 3 { z[i0] := fma(x[i0, i1], y[3 - i1], z[i0]); }
        })");
  ASSERT_EQ(code.instructions.size(), 3u);  // fma, end of loop, stop
  const Instruction& fma = code.instructions[0];
  EXPECT_EQ(fma.handler, FindHandler(Op::kFma, DType::kF32, DType::kF32));
  EXPECT_EQ(fma.target, fma.args[2]);
  EXPECT_EQ(fma.count, 4u);
  EXPECT_THAT(fma.strides, ElementsAre(4, -4, 0));
  ASSERT_EQ(code.loops.size(), 1u);
  EXPECT_EQ(code.loops[0].last, 4u);
  EXPECT_EQ(code.loops[0].jump, -1);
  EXPECT_EQ(code.loops[0].increments.size(), 3u);  // x, z and the counter
  EXPECT_TRUE(code.slots.empty());
}

TEST(DecodeTest, AnIndexAsAValueIsSteppedByALoop) {
  Bytecode code = MustDecode(R"(
      iota ():
        out y : i64[4];
        for i0 = 0 to 3 { y[i0] := [i0]; })");
  ASSERT_EQ(code.instructions.size(), 3u);  // copy, end of loop, stop
  EXPECT_EQ(code.instructions[0].count, 1u);
}

TEST(DecodeTest, EqualExpressionsOfOneStatementAreComputedOnce) {
  Bytecode code = MustDecode(R"(
      square ():
        inout x : f32[1];
        x[0] := (x[0] + 1) * (x[0] + 1);
        x[0] := (x[0] + 1) * (x[0] + 1);)");
  EXPECT_EQ(code.instructions.size(), 5u);  // add, mul, add, mul, stop
  EXPECT_EQ(code.slots.size(), 2u);         // the constant and the sum
}

TEST(DecodeTest, AccessesOfOneCellShareARegister) {
  Bytecode code = MustDecode(R"(
      swap ():
        inout x : f32[4, 4];
        for i0 = 0 to 3 {
          let v0 : f32 := x[i0, 0];
          x[i0, 0] := x[0, i0];
          x[0, i0] := v0;
        })");
  EXPECT_EQ(code.registers.size(), 4u);  // the slot, two cells, the counter
}

}  // namespace
}  // namespace ocannl::interp
