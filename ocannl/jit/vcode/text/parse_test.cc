// SPDX-License-Identifier: Apache-2.0
#include "ocannl/jit/vcode/text/parse.h"

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/support/must_parse.h"

namespace ocannl::jit {
namespace {

TEST(ParseTest, SaysWhatIsWrongAndWhere) {
  const LoopProgram program = MustParse("p (): in x : f32[64, 16];");
  struct Wrong {
    const char* text;
    const char* message;
  };
  for (const Wrong& wrong : {
           Wrong{"p0 = &w, uses 1", "expected a buffer of the program"},
           Wrong{"\nr0 = frob f32x8 r1", "line 2 of a nest"},
           Wrong{"r0 = frob f32x8 r1", "no instruction `frob`"},
           Wrong{"r0 = copy f33 1", "expected a type"},
           Wrong{"r0 = copy f32 1 2", "expected the end of the line"},
           Wrong{"r0 = copy f32 one", "`one` is no operand"},
           Wrong{"r2 = add f32 r0, r1", "used before its definition"},
           Wrong{"end i0", "it ends another loop than the innermost"},
           Wrong{"r0 : f32x8", "only a register v is declared"},
       }) {
    const absl::Status status = Parse(program, wrong.text).status();
    EXPECT_TRUE(absl::StrContains(status.message(), wrong.message))
        << wrong.text << "\n"
        << status;
  }
}

}  // namespace
}  // namespace ocannl::jit
