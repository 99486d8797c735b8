// SPDX-License-Identifier: Apache-2.0
//
// Where Allocate puts the values of texts.
#include "ocannl/jit/vcode/allocate.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/jit/vcode/liveness.h"
#include "ocannl/jit/vcode/text/parse.h"
#include "tests/support/must_parse.h"

namespace ocannl::jit {
namespace {

using testing::Each;
using testing::Field;
using testing::Ge;

Nest MustParseNest(absl::string_view text) {
  const LoopProgram program = MustParse(
      "p ():\n"
      "  in x : f32[64, 16];\n"
      "  out z : f32[64, 16];\n");
  absl::StatusOr<Nest> nest = Parse(program, text);
  CHECK_OK(nest) << text;
  return *std::move(nest);
}

// `values` loads that are all live in a loop, which sums them up, or inserts
// each into one register, of which each step has a temp.
std::string Live(int values, absl::string_view type, bool is_plain) {
  std::string text =
      "p0 = &x, uses 1\n"
      "p1 = &z + 4*i0, uses 1\n";
  if (!is_plain) absl::StrAppend(&text, "v", values, " : ", type, "\n");
  for (int k = 0; k < values; ++k) {
    absl::StrAppend(&text, "r", k, " = load ", type, " [p0 + ", 64 * k, "]\n");
  }
  if (!is_plain) absl::StrAppend(&text, "v", values, " = copy ", type, " 0\n");
  absl::StrAppend(&text, "loop i0 = 0 to 9\n");
  std::string result = is_plain ? "r0" : absl::StrCat("v", values);
  for (int k = is_plain ? 1 : 0; k < values; ++k) {
    if (is_plain) {
      absl::StrAppend(&text, "r", values + k, " = add ", type, " ", result,
                      ", r", k, "\n");
      result = absl::StrCat("r", values + k);
    } else {
      absl::StrAppend(&text, result, " = insert ", type, " first 1 r", k,
                      " at 1\n");
    }
  }
  absl::StrAppend(&text, "store ", type, " [p1], ", result,
                  "\nend i0: p1 += 4\n");
  return text;
}

int NumSpilled(const Allocation& allocation) {
  return static_cast<int>(
      std::count_if(allocation.locations.begin(), allocation.locations.end(),
                    [](const Location& at) { return at.slot >= 0; }));
}

TEST(AllocateTest, TakesEveryRegister) {
  // One is for the sum.
  const Allocation avx2 =
      Allocate(MustParseNest(Live(15, "f32x8", true)), Isa::kAvx2);
  EXPECT_EQ(NumSpilled(avx2), 0);
  EXPECT_EQ(NumSpilled(Allocate(MustParseNest(Live(31, "f32x16", true)),
                                Isa::kAvx512)),
            0);
}

TEST(AllocateTest, SpillsWhatDoesNotFit) {
  // Three registers are for reloads.
  const Allocation avx2 =
      Allocate(MustParseNest(Live(16, "f32x8", true)), Isa::kAvx2);
  EXPECT_EQ(NumSpilled(avx2), 16 + 1 - (16 - kNumReloads));
  EXPECT_EQ(avx2.spill_bytes, 32 * NumSpilled(avx2));
  const Allocation avx512 =
      Allocate(MustParseNest(Live(32, "f32x16", true)), Isa::kAvx512);
  EXPECT_EQ(NumSpilled(avx512), 32 + 1 - (32 - kNumReloads));
  EXPECT_EQ(avx512.spill_bytes, 64 * NumSpilled(avx512));
}

TEST(AllocateTest, ATempIsApartFromWhatIsLive) {
  EXPECT_EQ(
      NumSpilled(Allocate(MustParseNest(Live(14, "f32x8", false)), Isa::kAvx2)),
      0);
  const Nest nest = MustParseNest(Live(15, "f32x8", false));
  const Allocation allocation = Allocate(nest, Isa::kAvx2);
  EXPECT_GT(NumSpilled(allocation), 0);
  const std::vector<LiveInterval> intervals = LiveIntervals(nest, Isa::kAvx2);
  ASSERT_EQ(intervals.size(), nest.registers.size() + 15);
  for (size_t temp = nest.registers.size(); temp < intervals.size(); ++temp) {
    const int reg = allocation.locations[temp].reg;
    ASSERT_GE(reg, 0);
    for (size_t k = 0; k < intervals.size(); ++k) {
      if (k == temp || allocation.locations[k].reg != reg) continue;
      EXPECT_TRUE(intervals[k].last < intervals[temp].first ||
                  intervals[temp].last < intervals[k].first);
    }
  }
}

TEST(AllocateTest, ComputesAConstantAnew) {
  // The constant is used least.
  std::string text = Live(16, "f32x8", true);
  absl::StrReplaceAll({{"load f32x8 [p0 + 0]", "copy f32x8 0.5"}}, &text);
  const Allocation allocation = Allocate(MustParseNest(text), Isa::kAvx2);
  EXPECT_EQ(allocation.locations[0].constant, 0);
}

TEST(AllocateTest, ResultTakesTheRegisterOfAnOperandThatEnds) {
  const Allocation allocation = Allocate(MustParseNest(R"(
p0 = &x, uses 1
p1 = &z, uses 1
r0 = load f32x8 [p0]
r1 = load f32x8 [p0 + 32]
r2 = fma f32x8 r0, r1, r1
store f32x8 [p1], r2
)"),
                                         Isa::kAvx2);
  EXPECT_EQ(allocation.locations[2].reg, allocation.locations[1].reg);
}

// Which lanes it loads is read behind the bounds check.
TEST(AllocateTest, TheResultOfALookupIsApartFromItsLanes) {
  const Allocation allocation = Allocate(MustParseNest(R"(
p0 = &x, uses 1
p1 = &z, uses 1
r0 = lanes boolx16 first 5 at 0
r1 = copy i32 0:i32
r2 = lookup boolx16 of i32 first 5 [p0], r1 mask r0 rows 4 by 16 uniform
store boolx16 [p1], r2
)"),
                                         Isa::kAvx512);
  EXPECT_NE(allocation.locations[2].reg, allocation.locations[0].reg);
}

TEST(AllocateTest, IsLiveAroundALoopThatReadsItFirst) {
  const Allocation allocation = Allocate(MustParseNest(R"(
p0 = &x, uses 1
p1 = &z, uses 1
v0 : f32x8
v0 = copy f32x8 0
loop i0 = 0 to 9
  r1 = load f32x8 [p0]
  v0 = add f32x8 v0, r1
  r2 = load f32x8 [p0 + 32]
  store f32x8 [p1], r2
end i0: p0 += 32, p1 += 32
store f32x8 [p1], v0
)"),
                                         Isa::kAvx2);
  EXPECT_THAT(allocation.locations, Each(Field(&Location::reg, Ge(0))));
  EXPECT_NE(allocation.locations[2].reg, allocation.locations[0].reg);
}

}  // namespace
}  // namespace ocannl::jit
