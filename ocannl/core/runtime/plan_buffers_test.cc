// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/runtime/plan_buffers.h"

#include <algorithm>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "tests/support/must_parse.h"
#include "tests/support/status_matchers.h"

namespace ocannl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

BufferPlan MustPlan(absl::string_view text) {
  const LoopProgram program = MustParse(text);
  absl::StatusOr<BufferPlan> plan = PlanBuffers(program);
  CHECK_OK(plan);
  return *plan;
}

TEST(PlanBuffersTest, TempsThatAreNeverLiveAtOnceShareBytes) {
  BufferPlan plan = MustPlan(R"(
      chain ():
        in x : f32[16]; out y : f32[16];
        temp a : f32[16]; temp b : f32[17]; private c : f32[16];
        temp unused : f32[99];
        for i0 = 0 to 15 { a[i0] := x[i0]; }
        for i1 = 0 to 15 { b[i1] := a[i1]; }
        for i2 = 0 to 15 { c[i2] := b[i2]; y[i2] := c[i2]; })");
  // b, the largest, comes first and takes two cache lines.
  EXPECT_THAT(plan.offsets, ElementsAre(-1, -1, 128, 0, 128, -1));
  EXPECT_EQ(plan.arena_bytes, 192);
}

TEST(PlanBuffersTest, GapsAreFilled) {
  BufferPlan plan = MustPlan(R"(
      gaps ():
        temp big : f32[64]; temp mid : f32[32]; temp late : f32[16];
        zero_out big; mid[0] := big[0];
        late[0] := mid[0]; mid[1] := late[0];)");
  EXPECT_THAT(plan.offsets, ElementsAre(0, 256, 0));
  EXPECT_EQ(plan.arena_bytes, 384);
}

TEST(PlanBuffersTest, ZeroingAndNestedUsesCount) {
  BufferPlan plan = MustPlan(R"(
      nested ():
        temp a : f32[16]; temp b : f32[16];
        zero_out a;
        for i0 = 0 to 3 { for i1 = 0 to 3 {
          let v0 : f32 := b[i1];
          v0 := a[i0] + v0;
        } })");
  EXPECT_NE(plan.offsets[{0}], plan.offsets[{1}]);
}

TEST(PlanBuffersTest, SizesAreChecked) {
  int64_t big = int64_t{1} << 60;
  LoopProgram program;
  program.name = "big";
  program.buffers = {{"a", DType::kF64, Role::kTemp, {big}}};
  EXPECT_THAT(PlanBuffers(program),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("f64[1152921504606846976] has more than")));
  // Four at once, of 2^61 bytes each.
  For loop{LoopKind::kFor, {0}, 1, {}};
  for (int32_t i = 0; i < 4; ++i) loop.body.stmts.emplace_back(ZeroOut{{i}});
  program.body.stmts.emplace_back(loop);
  program.buffers.assign(4, {"a", DType::kU8, Role::kTemp, {2 * big}});
  EXPECT_THAT(PlanBuffers(program),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("the temps of `big` have more than 2^62")));
}

// Statement k writes to temp `touched[k]`; the program and each temp's life.
struct Lives {
  IdVector<BufferId, int> first;
  IdVector<BufferId, int> last;
  LoopProgram program;
};

Lives RandomLives(std::mt19937& random) {
  Lives lives;
  int count = 1 + static_cast<int>(random() % 12);
  for (int i = 0; i < count; ++i) {
    int64_t dim = 1 + random() % 100;
    lives.program.buffers.push_back(
        {absl::StrCat("t", i), DType::kF32, Role::kTemp, {dim}});
  }
  lives.first.assign(count, 1 << 20);
  lives.last.assign(count, -1);
  for (int k = 0; k < 3 * count; ++k) {
    const BufferId temp = {static_cast<int32_t>(random() % count)};
    lives.program.body.stmts.emplace_back(ZeroOut{temp});
    lives.first[temp] = std::min(lives.first[temp], k);
    lives.last[temp] = k;
  }
  return lives;
}

TEST(PlanBuffersTest, LiveTempsNeverOverlap) {
  std::mt19937 random(1);  // seed 1
  int shared = 0;
  for (int trial = 0; trial < 2000; ++trial) {
    Lives lives = RandomLives(random);
    absl::StatusOr<BufferPlan> plan = PlanBuffers(lives.program);
    CHECK_OK(plan);
    auto bytes = [&](BufferId i) {
      return 4 * lives.program.buffers[i].dims[0];
    };
    for (BufferId i : lives.first.ids()) {
      if (lives.last[i] < 0) {
        EXPECT_EQ(plan->offsets[i], -1);
        continue;
      }
      EXPECT_EQ(plan->offsets[i] % 64, 0);
      EXPECT_LE(plan->offsets[i] + bytes(i), plan->arena_bytes);
      for (BufferId j = {0}; j < i; j++) {
        if (lives.last[j] < 0) continue;
        bool apart = plan->offsets[i] + bytes(i) <= plan->offsets[j] ||
                     plan->offsets[j] + bytes(j) <= plan->offsets[i];
        bool both_live =
            lives.first[i] <= lives.last[j] && lives.first[j] <= lives.last[i];
        EXPECT_TRUE(apart || !both_live) << "trial " << trial;
        shared += apart ? 0 : 1;
      }
    }
  }
  EXPECT_GT(shared, 100);
}

}  // namespace
}  // namespace ocannl
