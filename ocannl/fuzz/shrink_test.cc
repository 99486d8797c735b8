// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/shrink.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "ocannl/core/loop/print.h"
#include "tests/support/must_parse.h"

namespace ocannl::fuzz {
namespace {

// The least program whose text has all `parts`.
std::string Shrunk(absl::string_view text,
                   std::vector<absl::string_view> parts) {
  const LoopProgram program = MustParse(text);
  return Print(Shrink(program, [&](const LoopProgram& candidate) {
    std::string printed = Print(candidate);
    for (absl::string_view part : parts) {
      if (!absl::StrContains(printed, part)) return false;
    }
    return true;
  }));
}

constexpr absl::string_view kProgram = R"(
  p (s : [0..3]):
    in a : f32[4, 20]; in b : f64[3]; temp t : f32[20]; out y : f32[20];
    zero_out t;
    par i0 = 0 to 19 {
      let v : f32 := sqrt(a[s, i0]) + 2;
      vec i1 = 0 to 2 { t[i0] := fma(v, f32(b[i1]), t[i0]); }
      y[i0] := t[i0] * tanh(v);
    })";

TEST(ShrinkTest, KeepsOnlyWhatFails) {
  EXPECT_EQ(Shrunk(kProgram, {}), "p ():\n");
  EXPECT_EQ(Shrunk(kProgram, {"tanh"}),
            "p ():\n  inout y : f32[];\n  y[] := tanh(1);\n");
  EXPECT_EQ(Shrunk(kProgram, {"zero_out"}),
            "p ():\n  inout t : f32[];\n  zero_out t;\n");
  EXPECT_EQ(Shrunk(kProgram, {"par", "fma"}), R"(p ():
  inout t : f32[];
  par i0 = 0 to 0 {
    t[] := fma(1, 1, 1);
  }
)");
}

TEST(ShrinkTest, KeepsWhatIsNeededForValidity) {
  EXPECT_EQ(Shrunk(kProgram, {"tanh(v)", "s : "}), R"(p (s : [0..3]):
  inout y : f32[];
  let v : f32 := 1;
  y[] := tanh(v);
)");
}

}  // namespace
}  // namespace ocannl::fuzz
