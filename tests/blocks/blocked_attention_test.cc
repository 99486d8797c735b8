// SPDX-License-Identifier: Apache-2.0
//
// Attention in blocks of rows (core/opt/block_rows.h): the bits of attention as
// a whole on every tier, and memory linear in the sequence.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/opt/block_rows.h"
#include "ocannl/core/runtime/plan_buffers.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/programs/generate.h"
#include "ocannl/fuzz/rewriting_backend.h"
#include "ocannl/fuzz/trial.h"
#include "ocannl/train/blocks/attention.h"
#include "ocannl/train/graph/model.h"
#include "tests/support/must_parse.h"

namespace ocannl {
namespace {

using fuzz::ComparedTier;
using fuzz::FillKind;
using ::testing::HasSubstr;

constexpr int kSize = 8;  // of a vector of the sequence

constexpr char kWhole[] = R"(p ():
  in x : f32[4];
  in y : f32[6];
  temp s : f32[4, 6];
  out m : f32[4];
  out g : f32[6];
  out z : f32[4];
  for i0 = 0 to 3 {
    for i1 = 0 to 5 {
      s[i0, i1] := x[i0] * y[i1];
    }
  }
  zero_out m;
  for i2 = 0 to 3 {
    for i3 = 0 to 5 {
      m[i2] := m[i2] + s[i2, i3];
    }
  }
  zero_out g;
  for i4 = 0 to 5 {
    for i5 = 0 to 3 {
      g[i4] := g[i4] + s[i5, i4];
    }
  }
  zero_out z;
  for i6 = 0 to 3 {
    for i7 = 0 to 5 {
      z[i6] := fma(s[i6, i7], g[i7], z[i6]);
    }
  }
)";
constexpr char kBlocked[] = R"(p ():
  in x : f32[4];
  in y : f32[6];
  out m : f32[4];
  out g : f32[6];
  out z : f32[4];
  temp s.rows : f32[2, 6];
  temp s.rows_2 : f32[2, 6];
  temp s.rows_3 : f32[2, 6];
  temp s.rows_4 : f32[2, 6];
  zero_out m;
  zero_out g;
  for i8 = 0 to 1 {
    for i9 = 0 to 5 {
      s.rows[i8, i9] := x[i8] * y[i9];
    }
  }
  for i10 = 0 to 1 {
    for i11 = 0 to 5 {
      m[i10] := m[i10] + s.rows[i10, i11];
    }
  }
  for i12 = 0 to 5 {
    for i13 = 0 to 1 {
      g[i12] := g[i12] + s.rows[i13, i12];
    }
  }
  for i14 = 0 to 1 {
    for i15 = 0 to 5 {
      s.rows_2[i14, i15] := x[i14 + 2] * y[i15];
    }
  }
  for i16 = 0 to 1 {
    for i17 = 0 to 5 {
      m[i16 + 2] := m[i16 + 2] + s.rows_2[i16, i17];
    }
  }
  for i18 = 0 to 5 {
    for i19 = 0 to 1 {
      g[i18] := g[i18] + s.rows_2[i19, i18];
    }
  }
  zero_out z;
  for i20 = 0 to 1 {
    for i21 = 0 to 5 {
      s.rows_3[i20, i21] := x[i20] * y[i21];
    }
  }
  for i22 = 0 to 1 {
    for i23 = 0 to 5 {
      z[i22] := fma(s.rows_3[i22, i23], g[i23], z[i22]);
    }
  }
  for i24 = 0 to 1 {
    for i25 = 0 to 5 {
      s.rows_4[i24, i25] := x[i24 + 2] * y[i25];
    }
  }
  for i26 = 0 to 1 {
    for i27 = 0 to 5 {
      z[i26 + 2] := fma(s.rows_4[i26, i27], g[i27], z[i26 + 2]);
    }
  }
)";

// `v` has 3 more cells than `s` has rows, in front and behind.
constexpr char kPadded[] = R"(p ():
  in x : f32[8];
  temp s : f32[8, 6];
  temp u : f32[14];
  inout v : f32[14];
  out z : f32[8, 6];
  for i0 = 0 to 7 { for i1 = 0 to 5 { s[i0, i1] := sqrt(x[i0]); } }
  zero_out u;
  for i2 = 0 to 7 { for i3 = 0 to 5 {
    u[i2 + 3] := u[i2 + 3] + s[i2, i3]; } }
  for i4 = 0 to 13 { v[i4] := sqrt(u[i4]) + 1; }
  for i5 = 0 to 7 { for i6 = 0 to 5 { z[i5, i6] := s[i5, i6] * v[i5 + 3]; } }
)";
constexpr char kPrivate[] = R"(p ():
  in x : f32[7];
  private a : f32[];
  temp s : f32[7];
  out z : f32[7];
  for i0 = 0 to 6 { a[] := x[i0]; s[i0] := a[] + 1; }
  for i1 = 0 to 6 { z[i1] := s[i1] * x[i1]; }
)";

constexpr char kTwoAxes[] = R"(p ():
  in x : f32[8, 8];
  temp s : f32[8, 8, 6];
  out z : f32[8, 8, 6];
  for i0 = 0 to 7 { for i1 = 0 to 7 { for i2 = 0 to 5 {
    s[i0, i1, i2] := sqrt(x[i0, i1]); } } }
  for i3 = 0 to 7 { for i4 = 0 to 7 { for i5 = 0 to 5 {
    z[i3, i4, i5] := s[i3, i4, i5] * x[i4, i3]; } } }
)";

struct Sizes {
  int64_t batch, length;
  int layers = 1;
  int64_t key_size = 4;
  int64_t memory = 0;  // places of a memory; 0: the sequence itself, causal
};

// A training step of causal attention of two heads, a layer on the one before,
// or its forward part; without blocks.
LoopProgram Attention(const Sizes& sizes, bool trains) {
  train::Model model;
  auto sequence = [&](const std::string& name, int64_t length) {
    return Input(model.graph, name,
                 absl::StrCat(sizes.batch, ",", length, "|", kSize));
  };
  Tensor x = sequence("x", sizes.length);
  std::optional<Tensor> memory, mask;
  if (sizes.memory > 0) {
    memory = sequence("memory", sizes.memory);
  } else {
    mask = train::CausalMask(model.graph, sizes.length);
  }
  for (int layer = 0; layer < sizes.layers; ++layer) {
    const train::MultiHeadAttention attend(
        {.graph = &model.graph, .name = absl::StrCat("layer", layer)},
        {.size = kSize, .heads = 2, .key_size = sizes.key_size});
    x = x + attend(x, memory.value_or(x), mask, train::kInference);
  }
  const auto code =
      trains ? train::GradUpdateOfSum(model, x, {.keep_gradients = true})
             : train::Forward(model, x);
  CHECK_OK(code);
  PassOptions options;
  options.skip = {"block_rows", "share"};
  auto program = CompileProgram(*code, options);
  CHECK_OK(program);
  return *std::move(program);
}

int64_t ScratchBytes(const LoopProgram& program) {
  const auto plan = PlanBuffers(program);
  CHECK_OK(plan);
  return plan->arena_bytes;
}

// Each tier with blocks, against the interpreter without.
void ExpectSameBits(const LoopProgram& program,
                    const BlockRowsOptions& options) {
  auto block = [&](LoopProgram whole) {
    return BlockRows(std::move(whole), options);
  };
  const fuzz::Trial trial(program, FillKind::kUnit, /*seed=*/5);
  for (const ComparedTier& tier : fuzz::ComparedTiers()) {
    const bool is_compared = tier.name == "interp" ||
                             tier.name == "schedule-gpu" ||
                             absl::StartsWith(tier.name, "x86-avx");
    if (!tier.available || !is_compared) continue;
    const fuzz::RewritingBackend blocked("block_rows", block, tier.backend());
    EXPECT_EQ(trial.Try(blocked), "") << tier.name;
  }
}

// Sums of rows, a sum over rows, and what needs all of that and `s` again.
TEST(BlockedAttentionTest, HasATextBeforeAndAfter) {
  const LoopProgram program = MustParse(kWhole);
  const BlockRowsOptions options{
      .most_bytes = 64, .block_bytes = 48, .least_terms = 2};
  EXPECT_EQ(Print(BlockRows(program, options)), kBlocked);
  ExpectSameBits(program, options);
}

TEST(BlockedAttentionTest, KeepsCellsBesideTheRows) {
  const LoopProgram program = MustParse(kPadded);
  const BlockRowsOptions options{
      .most_bytes = 64, .block_bytes = 48, .least_terms = 1};
  EXPECT_THAT(Print(BlockRows(program, options)), HasSubstr(".rows"));
  ExpectSameBits(program, options);
}

TEST(BlockedAttentionTest, BlocksOfOneRowKeepPrivateBuffers) {
  const LoopProgram program = MustParse(kPrivate);
  const BlockRowsOptions options{
      .most_bytes = 8, .block_bytes = 4, .least_terms = 1};
  EXPECT_THAT(Print(BlockRows(program, options)), HasSubstr(".rows"));
  ExpectSameBits(program, options);
}

TEST(BlockedAttentionTest, BlocksOfTwoAxesAreFew) {
  const LoopProgram program = MustParse(kTwoAxes);
  const BlockRowsOptions options{
      .most_bytes = 8, .block_bytes = 8, .least_terms = 1, .most_blocks = 16};
  const LoopProgram blocked = BlockRows(program, options);
  EXPECT_EQ(blocked.body.stmts.size(), 2 * 16);
  ExpectSameBits(program, options);
}

// A second on an idle machine, as each of the next two.
TEST(BlockedAttentionTest, KeepsTheBitsOfAttention) {
  for (const Sizes& sizes :
       {Sizes{1, 40}, {3, 20, 2}, {1, 32, 1, 4, /*memory=*/12}}) {
    for (const bool trains : {false, true}) {
      SCOPED_TRACE(absl::StrCat(sizes.batch, " of ", sizes.length, ", ",
                                sizes.layers, " layers"));
      const LoopProgram program = Attention(sizes, trains);
      const BlockRowsOptions options{
          .most_bytes = 2000, .block_bytes = 2000, .least_terms = 4};
      EXPECT_THAT(Print(BlockRows(program, options)), HasSubstr(".rows"));
      ExpectSameBits(program, options);
    }
  }
}

// A sum over 4200 rows has blocks of 1024 terms, each of several of ours.
TEST(BlockedAttentionTest, KeepsTheOrderOfLongSums) {
  const LoopProgram program =
      Attention({.batch = 1, .length = 4200, .memory = 6}, /*trains=*/true);
  EXPECT_THAT(Print(program), HasSubstr(".grad.blocks"));
  ExpectSameBits(program, {.most_bytes = 100'000, .block_bytes = 60'000});
}

// Bytes of a step of 4 times the sequence, and of the default bound.
TEST(BlockedAttentionTest, TakesMemoryLinearInTheSequence) {
  for (const bool trains : {false, true}) {
    const BlockRowsOptions options{.most_bytes = 1 << 20,
                                   .block_bytes = 1 << 20};
    const LoopProgram small = Attention({1, 1024, 2, 16}, trains);
    const LoopProgram large = Attention({1, 4096, 2, 16}, trains);
    EXPECT_GT(ScratchBytes(large), 10 * ScratchBytes(small));
    EXPECT_LT(ScratchBytes(BlockRows(large, options)),
              5 * ScratchBytes(BlockRows(small, options)));
    const LoopProgram longest = Attention({1, 16384, 2, 16}, trains);
    EXPECT_LT(ScratchBytes(BlockRows(longest, {})), ScratchBytes(longest) / 20);
  }
}

TEST(BlockedAttentionTest, SmallArraysStayWhole) {
  const LoopProgram program = Attention({2, 256}, /*trains=*/true);
  EXPECT_EQ(Print(BlockRows(program, {})), Print(program));
}

// Programs of all forms, of which all temps are to be cut.
TEST(BlockedAttentionTest, KeepsTheBitsOfRandomPrograms) {
  const BlockRowsOptions options{
      .most_bytes = 8, .block_bytes = 16, .least_terms = 1, .most_blocks = 4};
  int cut = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    fuzz::Policies policies;
    policies.Add(fuzz::Policy::kStructured);
    policies.Add(fuzz::Policy::kInPlace);
    const LoopProgram program = fuzz::Generate(seed, policies);
    const std::string blocked = Print(BlockRows(program, options));
    if (blocked.find(".rows") == std::string::npos) continue;
    ++cut;
    ExpectSameBits(program, options);
    if (HasFailure()) FAIL() << Print(program) << blocked;
  }
  std::printf("%d of 80 programs are cut\n", cut);
  EXPECT_GT(cut, 10);
}

}  // namespace
}  // namespace ocannl
