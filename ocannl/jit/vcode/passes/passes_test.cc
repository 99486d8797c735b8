// SPDX-License-Identifier: Apache-2.0
//
// Passes over VCode, each on texts of its own. That the text is all that there
// is of a nest, //tests/agree:vcode_text_test shows.
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/jit/vcode/passes/pipeline.h"
#include "ocannl/jit/vcode/text/parse.h"
#include "ocannl/jit/vcode/text/print.h"
#include "ocannl/jit/vcode/verify.h"
#include "tests/support/must_parse.h"

namespace ocannl::jit {
namespace {

LoopProgram Buffers() {
  return MustParse(
      "p ():\n"
      "  in x : f32[64, 16];\n"
      "  in y : f32[64, 16];\n"
      "  out z : f32[64, 16];\n");
}

constexpr char kPointers[] = "p0 = &x, uses 1\np1 = &z, uses 1\n";

struct Case {
  const char* name;
  const char* pass;
  Isa isa;
  const char* before;
  const char* after;  // null: the same
  const char* pointers = kPointers;
};

class PassTest : public testing::TestWithParam<Case> {};

TEST_P(PassTest, RewritesText) {
  const Case& c = GetParam();
  const LoopProgram program = Buffers();
  absl::StatusOr<Nest> nest =
      Parse(program, absl::StrCat(c.pointers, c.before));
  ASSERT_TRUE(nest.ok()) << nest.status();
  const absl::Span<const VcodePass> passes = VcodePasses();
  const auto pass = absl::c_find_if(
      passes, [&](const VcodePass& p) { return p.name == c.pass; });
  ASSERT_NE(pass, passes.end());
  pass->run(*nest, c.isa);
  EXPECT_TRUE(Verify(*nest).ok()) << Verify(*nest);
  const absl::string_view after = c.after == nullptr ? c.before : c.after;
  // A text starts behind a line break.
  EXPECT_EQ(Print(program, *nest), absl::StrCat(c.pointers, after.substr(1)));
}

INSTANTIATE_TEST_SUITE_P(
    All, PassTest,
    testing::Values(
        Case{"LoadIsAnOperandOfItsOnlyUse", "fold_loads", Isa::kAvx2, R"(
r0 = load f32x8 [p0]
r1 = load f32x8 [p0 + 32]
r2 = add f32x8 r0, r1
r3 = mul f32x8 r2, r1
store f32x8 [p1], r3
)",
             R"(
r1 = load f32x8 [p0 + 32]
r2 = add f32x8 r1, [p0]
r3 = mul f32x8 r2, r1
store f32x8 [p1], r3
)"},
        Case{"NoLoadPassesAStore", "fold_loads", Isa::kAvx2, R"(
r0 = load f32x8 [p0]
r1 = load f32x8 [p0 + 32]
store f32x8 [p1], r1
r2 = mul f32x8 r1, r0
store f32x8 [p1 + 32], r2
)",
             nullptr},
        Case{"OrOfAndIsOneInstruction", "fuse_or_and", Isa::kAvx512, R"(
r0 = load i32x16 [p0]
r1 = load i32x16 [p0 + 64]
r2 = and i32x16 r0, r1
r3 = or i32x16 r0, r2
store i32x16 [p1], r3
)",
             R"(
r0 = load i32x16 [p0]
r1 = load i32x16 [p0 + 64]
r3 = or_and i32x16 r0, r0, r1
store i32x16 [p1], r3
)"},
        Case{"NegationIsPartOfEveryFmaThatUsesIt", "fuse_negations", Isa::kAvx2,
             R"(
r0 = load f32x8 [p0]
r1 = xor f32x8 r0, -2147483648:i32
r2 = fma f32x8 r1, r0, 1
r3 = fma f32x8 r2, r2, r1
r4 = xor f32x8 r3, -2147483648:i32
r5 = fma f32x8 r4, r2, r3
store f32x8 [p1], r4
store f32x8 [p1 + 32], r5
)",
             R"(
r0 = load f32x8 [p0]
r1 = xor f32x8 r0, -2147483648:i32
r2 = fnmadd f32x8 r0, r0, 1
r3 = fmsub f32x8 r2, r2, r0
r4 = xor f32x8 r3, -2147483648:i32
r5 = fma f32x8 r4, r2, r3
store f32x8 [p1], r4
store f32x8 [p1 + 32], r5
)"},
        Case{"DeadCodeVanishes", "dead_code", Isa::kAvx512, R"(
r0 = load f32x16 [p0]
r1 = xor f32x16 r0, -2147483648:i32
r2 = copy f32x16 2
store f32x16 [p1], r2
)",
             R"(
r2 = copy f32x16 2
store f32x16 [p1], r2
)"},
        Case{"InsertOfAllThatLivesIsTheResultItself", "fold_inserts",
             Isa::kAvx512, R"(
v0 : f32x16
v0 = load f32x16 [p0]
r1 = extract f32x16 first 8 v0 at 8
r2 = add f32x8 v0, r1
v0 = insert f32x16 first 8 r2 at 0
store f32x8 [p1], v0
)",
             R"(
v0 : f32x16
v0 = load f32x16 [p0]
r1 = extract f32x16 first 8 v0 at 8
v0 = add f32x8 v0, r1
store f32x8 [p1], v0
)"},
        Case{"TwoColumnsAreLoadedAsRows", "interleave", Isa::kAvx2, R"(
r0 = load f32x8 [p0, stride 8]
r1 = load f32x8 [p0 + 4, stride 8]
r2 = sub f32x8 r0, r1
store f32x8 [p1], r2
)",
             R"(
r3 = load f32x8 [p0]
r4 = load f32x8 [p0 + 32]
r5 = shuffle f32x8 r3, r4 blocks256 32
r6 = shuffle f32x8 r3, r4 blocks256 49
r7 = shuffle f32x8 r5, r6 low32 0
r8 = shuffle f32x8 r5, r6 high32 0
r9 = shuffle f32x8 r7, r8 low32 0
r10 = shuffle f32x8 r7, r8 high32 0
r2 = sub f32x8 r9, r10
store f32x8 [p1], r2
)"},
        Case{"AStoreBetweenKeepsColumnsApart", "interleave", Isa::kAvx2, R"(
r0 = load f32x8 [p0, stride 8]
store f32x8 [p0 + 4], r0
r1 = load f32x8 [p0 + 4, stride 8]
store f32x8 [p0 + 128], r1
)",
             nullptr, "p0 = &z, uses 1\n"},
        Case{"FewColumnsAreNotTransposed", "transpose", Isa::kAvx2, R"(
r0 = load f32x8 [p0, stride 64]
r1 = load f32x8 [p0 + 4, stride 64]
r2 = sub f32x8 r0, r1
store f32x8 [p1], r2
)",
             nullptr},
        Case{"ComparesUnsignedAsSignedAndNarrowsTheMask", "legalize",
             Isa::kAvx2, R"(
r0 = load u64x4 [p0]
r1 = less boolx4 of u64 r0, r0
store boolx4 [p1], r1
)",
             R"(
r0 = load u64x4 [p0]
r2 = xor u64x4 r0, 9223372036854775808:u64
r3 = xor u64x4 r0, 9223372036854775808:u64
r4 = greater i64x4 of u64 r2, r3
r5 = extract i64x4 r4 at 2
r1 = shuffle boolx4 r4, r5 select32 136
store boolx4 [p1], r1
)"},
        Case{"KeepsWhatTheSetHas", "legalize", Isa::kAvx512, R"(
r0 = load u64x8 [p0]
r1 = less boolx8 of u64 r0, r0
r2 = select f64x8 r1, 1:f64, 0:f64
store f64x8 [p1], r2
)",
             nullptr},
        Case{"RotatesByShifts", "legalize", Isa::kAvx2, R"(
r0 = load u32x8 [p0]
r1 = rotl u32x8 r0, 13:u32
store u32x8 [p1], r1
)",
             R"(
r0 = load u32x8 [p0]
r2 = shl u32x8 r0, 13:u32
r3 = shr u32x8 r0, 19:u32
r1 = or u32x8 r2, r3
store u32x8 [p1], r1
)"},
        Case{"PutsNansIntoTheResultOfAMaximum", "legalize", Isa::kAvx512, R"(
v2 : f32x16
r0 = load f32x16 [p0]
r1 = load f32x16 [p0 + 64]
v2 = copy f32x16 r1
v2 = maximum f32x16 v2, r0
v2 = maximum f32x16 r0, v2
store f32x16 [p1], v2
)",
             R"(
v2 : f32x16
r0 = load f32x16 [p0]
r1 = load f32x16 [p0 + 64]
v2 = copy f32x16 r1
v2 = max f32x16 r0, v2
v2 = fix_nan f32x16 v2, r0, 34:i32
r3 = max f32x16 v2, r0
r4 = fix_nan f32x16 r3, v2, 34:i32
v2 = copy f32x16 r4
store f32x16 [p1], v2
)"},
        Case{"ExpandsWhatAnExpansionIsMadeOf", "legalize", Isa::kAvx2, R"(
r0 = load f16x8 [p0]
r1 = convert u8x8 of f16 r0
store u8x8 [p1], r1
)",
             R"(
r0 = load f16x8 [p0]
r2 = extract u32x8 r0 at 4
r3 = pack_words u16x8 r0, r2
r4 = widen_f16 f32x8 of f16 r3
r5 = copy f32x8 0
r6 = max f32x8 r4, r5
r7 = min f32x8 r6, 255
r1 = to_i32 i32x8 of f32 r7
store u8x8 [p1], r1
)"},
        Case{"LeavesTheRestToHelpers", "legalize", Isa::kAvx2, R"(
r0 = load i64x4 [p0]
r1 = div i64x4 r0, r0
store i64x4 [p1], r1
)",
             nullptr},
        Case{"ConstantsOfALoopAreLoadedBefore", "hoist_constants", Isa::kAvx2,
             R"(
loop i0 = 0 to 63
  r0 = load f32x8 [p0]
  r1 = copy f32x8 0.5
  r2 = fma f32x8 r1, r0, 3
  store f32x8 [p1], r2
end i0: p0 += 64, p1 += 64
)",
             R"(
r3 = copy f32x8 0.5
r4 = copy f32x8 3
loop i0 = 0 to 63
  r0 = load f32x8 [p0]
  r2 = fma f32x8 r3, r0, r4
  store f32x8 [p1], r2
end i0: p0 += 64, p1 += 64
)",
             "p0 = &x + 64*i0, uses 64\np1 = &z + 64*i0, uses 64\n"},
        Case{"AMaskOfLanesIsMadeBeforeTheLoop", "hoist_constants", Isa::kAvx512,
             R"(
loop i0 = 0 to 63
  r0 = load f32x16 first 5 [p0]
  r1 = add f32x16 r0, r0
  store f32x16 first 5 [p1], r1
end i0: p0 += 64, p1 += 64
)",
             R"(
r2 = lanes boolx16 first 5 at 0
loop i0 = 0 to 63
  r0 = load f32x16 first 5 [p0] mask r2
  r1 = add f32x16 r0, r0
  store f32x16 first 5 [p1], r1 mask r2
end i0: p0 += 64, p1 += 64
)",
             "p0 = &x + 64*i0, uses 64\np1 = &z + 64*i0, uses 64\n"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ParseTest, SaysWhatIsWrongAndWhere) {
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
    const absl::Status status = Parse(Buffers(), wrong.text).status();
    EXPECT_TRUE(absl::StrContains(status.message(), wrong.message))
        << wrong.text << "\n"
        << status;
  }
}

}  // namespace
}  // namespace ocannl::jit
