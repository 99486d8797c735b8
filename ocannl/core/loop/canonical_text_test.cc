// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/loop/canonical_text.h"

#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

std::string TextOf(const std::string& text) {
  return CanonicalText(MustParse(text));
}

constexpr char kProgram[] = R"(
scale (batch : [0..9]):
  in weights : f32[10, 4];
  out y : f32[4];
  for i0 = 0 to 3 {
    /* the weights of the batch */
    let w : f32 := weights[batch, i0];
    y[i0] := w * 0.1;
  }
)";

TEST(CanonicalTextTest, HasNoNamesAndNoComments) {
  EXPECT_EQ(TextOf(kProgram), R"(p (s0 : [0..9]):
  in b0 : f32[10, 4];
  out b1 : f32[4];
  for i0 = 0 to 3 {
    let v0 : f32 := b0[s0, i0];
    b1[i0] := v0 * 0.1;
  }
)");
}

TEST(CanonicalTextTest, KeepsWhatMatters) {
  const std::string program = TextOf(kProgram);
  auto with = [](const std::string& from, const std::string& to) {
    std::string text = kProgram;
    text.replace(text.find(from), from.size(), to);
    return TextOf(text);
  };
  EXPECT_EQ(with("scale", "grow"), program);
  EXPECT_EQ(with("the weights of", "those of"), program);
  EXPECT_NE(with("0.1", "0.2"), program);
  EXPECT_NE(with("[10, 4]", "[11, 4]"), program);
  EXPECT_NE(with("[0..9]", "[0..8]"), program);
  EXPECT_NE(with("out y", "inout y"), program);
  EXPECT_NE(with("for i0", "vec i0"), program);
}

}  // namespace
}  // namespace ocannl
