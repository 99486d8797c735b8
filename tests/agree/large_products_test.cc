// SPDX-License-Identifier: Apache-2.0
//
// Products and sums too large for the caches, as machine code: the
// interpreter's bits.
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/schedule/cpu/decisions.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "ocannl/fuzz/fill.h"
#include "ocannl/fuzz/trial.h"
#include "tests/support/must_parse.h"

namespace ocannl::fuzz {
namespace {

// y = relu(a b), with operands that are transposed or not.
LoopProgram Product(int m, int n, int k, bool transposed_a, bool transposed_b) {
  auto buffer = [](bool transposed, int rows, int columns) {
    return transposed ? absl::StrCat(columns, ", ", rows)
                      : absl::StrCat(rows, ", ", columns);
  };
  LoopProgram program = MustParse(absl::Substitute(
      R"(product ():
  in a : f32[$0]; in b : f32[$1]; temp t : f32[$2, $3]; out y : f32[$2, $3];
  zero_out t;
  for i0 = 0 to $4 { for i1 = 0 to $5 { for i2 = 0 to $6 {
    t[i0, i1] := fma(a[$7], b[$8], t[i0, i1]); } } }
  for i3 = 0 to $4 { for i4 = 0 to $5 { y[i3, i4] := relu(t[i3, i4]); } }
)",
      buffer(transposed_a, m, k), buffer(transposed_b, k, n), m, n, m - 1,
      n - 1, k - 1, transposed_a ? "i2, i0" : "i0, i2",
      transposed_b ? "i1, i2" : "i2, i1"));
  CHECK_OK(Verify(program));
  return program;
}

void ExpectSameBits(const LoopProgram& program, Decision decision) {
  SCOPED_TRACE(Print(program));
  EXPECT_TRUE(DecisionsOf(program, TargetOf(jit::Isa::kAvx512)).Has(decision))
      << Name(decision);
  const Trial trial(program, FillKind::kUnit, /*seed=*/1);
  int compared = 0;
  for (const ComparedTier& tier : ComparedTiers()) {
    if (!tier.available || !absl::StartsWith(tier.name, "x86")) continue;
    EXPECT_EQ(trial.Try(*tier.backend()), "") << tier.name;
    ++compared;
  }
  if (compared == 0) GTEST_SKIP() << "needs AVX2: nothing is compared";
}

TEST(LargeProductsTest, GroupsOfColumns) {
  ExpectSameBits(Product(64, 515, 2100, false, false), Decision::kPanelBlocks);
}

TEST(LargeProductsTest, PackedRows) {
  ExpectSameBits(Product(250, 200, 800, true, false), Decision::kPackedA);
}

TEST(LargeProductsTest, Parts) {
  ExpectSameBits(Product(37, 130, 4500, true, true), Decision::kKBlocks);
}

// Few rows: not worth copying columns for.
TEST(LargeProductsTest, PartsOfAFewRows) {
  ExpectSameBits(Product(19, 1100, 520, false, false), Decision::kKBlocks);
}

// Sums of columns: a tile reads a little of each long row.
TEST(LargeProductsTest, PartsOfColumns) {
  const LoopProgram program = MustParse(R"(sums ():
  in x : f32[515, 1100]; out y : f32[1100];
  zero_out y;
  for i0 = 0 to 1099 { for i1 = 0 to 514 { y[i0] := y[i0] + x[i1, i0]; } }
)");
  ExpectSameBits(program, Decision::kKBlocks);
}

}  // namespace
}  // namespace ocannl::fuzz
