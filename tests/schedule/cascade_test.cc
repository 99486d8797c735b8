// SPDX-License-Identifier: Apache-2.0
//
// Sums in blocks against a plain cascade, bit for bit on every tier, and what
// is promised of their order.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/cd/parse.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/loop/verify.h"
#include "ocannl/core/runtime/plan_buffers.h"
#include "ocannl/core/schedule/cpu/schedule.h"
#include "ocannl/fuzz/compared_tiers.h"
#include "tests/schedule/plain_cascade.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

std::vector<float> Random(int64_t size, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> unit(0, 1);
  std::vector<float> values(size);
  for (float& value : values) {
    value = std::exp2(16 * unit(random) - 8);
    if (random() % 2 == 0) value = -value;
  }
  return values;
}

// y[j] (=:+ or =+) x[k, j], sums of three columns.
constexpr char kColumns[] = R"(columns ():
  x : f32[$n, 3] on_device "data"; y : f32[3] on_device "data";
  y $op x ~logic:"k, j => j";
)";
// y[j] =:+ x[k, j] of an axis before the rows.
constexpr char kPlanes[] = R"(planes ():
  x : f32[$n, 30, 3] on_device "data"; y : f32[3] on_device "data";
  y $op x ~logic:"p, k, j => j";
)";
constexpr char kProduct[] = R"(product ():
  a : f32[4, $n] on_device "data"; b : f32[$n, 3] on_device "data";
  y : f32[4, 3] on_device "data";
  y $op a * b ~logic:"i, k; k, j => i, j";
)";
// The only cell of a row of b is repeated, as one of a row of a: no
// contraction.
constexpr char kRepeated[] = R"(repeated ():
  a : f32[$n, 3] on_device "data"; b : f32[$n, 1] on_device "data";
  y : f32[3] on_device "data";
  y $op a * b ~logic:"k, j; k, 0 => j";
)";
// The gradient of a convolution's weights: its lanes, along o, are apart in y.
constexpr char kWeights[] = R"(weights ():
  x : f32[$n, 10, 10, 2] on_device "data";
  g : f32[$n, 8, 8, 16] on_device "data";
  y : f32[16, 3, 3, 2] on_device "data";
  y $op x * g ~logic:"m, j + n, k + o, l; m, n, o, i => i, j, k, l";
)";
constexpr char kRows[] = R"(rows ():
  x : f32[2, $n] on_device "data"; y : f32[2] on_device "data";
  y $op x ~logic:"i, k => i";
)";

LoopProgram Lowered(absl::string_view text, int64_t n, absl::string_view op) {
  auto code = ParseCd(
      absl::StrReplaceAll(text, {{"$n", absl::StrCat(n)}, {"$op", op}}));
  CHECK_OK(code);
  auto program = Lower(*code);
  CHECK_OK(program);
  CHECK_OK(Verify(*program));
  return *std::move(program);
}

// What all tiers leave in y, which must be what the interpreter does.
std::vector<float> RunAll(const LoopProgram& program, Arrays inputs) {
  for (const Buffer& buffer : program.buffers) {
    if (!IsInput(buffer.role)) inputs.erase(buffer.name);
  }
  const auto expected = RunProgram(program, inputs);
  CHECK_OK(expected);
  for (const fuzz::ComparedTier& tier : fuzz::ComparedTiers()) {
    if (!tier.available || !absl::StartsWith(tier.name, "x86")) continue;
    const auto result = RunProgram(program, inputs, *tier.backend());
    CHECK_OK(result);
    EXPECT_EQ(Difference(*expected, *result), "") << tier.name;
  }
  const auto values = expected->at("y").values<float>();
  return {values.begin(), values.end()};
}

NdArray Of(Dims dims, const std::vector<float>& values) {
  return NdArray::Of(std::move(dims), values);
}

TEST(CascadeTest, Columns) {
  for (const int64_t n : {127, 128, 129, 256, 257, 1000, 16384, 16385, 17000}) {
    const std::vector<float> x = Random(3 * n, 1);
    const std::vector<float> y = Random(3, 2);
    for (const bool resets : {true, false}) {
      const auto sums = RunAll(Lowered(kColumns, n, resets ? "=:+" : "=+"),
                               {{"x", Of({n, 3}, x)}, {"y", Of({3}, y)}});
      for (int j = 0; j < 3; ++j) {
        Cascade sum(128, resets ? 0 : y[j]);
        for (int64_t k = 0; k < n; ++k) sum.Add(x[3 * k + j]);
        EXPECT_EQ(sums[j], sum.Sum()) << n << " " << resets;
      }
    }
  }
}

// A block is four rows of 30.
TEST(CascadeTest, BlocksAreWholeInnerLoops) {
  const int64_t n = 9;
  const std::vector<float> x = Random(n * 90, 1);
  const auto sums =
      RunAll(Lowered(kPlanes, n, "=:+"), {{"x", Of({n, 30, 3}, x)}});
  for (int j = 0; j < 3; ++j) {
    float sum = 0;
    for (int64_t first = 0; first < n; first += 4) {
      float block = 0;
      for (int64_t k = 30 * first; k < 30 * std::min(first + 4, n); ++k) {
        block += x[3 * k + j];
      }
      sum += block;
    }
    EXPECT_EQ(sums[j], sum);
  }
}

void ExpectProducts(int64_t n, bool resets) {
  const std::vector<float> a = Random(4 * n, 1);
  const std::vector<float> b = Random(3 * n, 2);
  const std::vector<float> y = Random(12, 3);
  const auto sums = RunAll(
      Lowered(kProduct, n, resets ? "=:+" : "=+"),
      {{"a", Of({4, n}, a)}, {"b", Of({n, 3}, b)}, {"y", Of({4, 3}, y)}});
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      Cascade sum(1024, resets ? 0 : y[3 * i + j]);
      for (int64_t k = 0; k < n; ++k) {
        sum.AddProduct(a[n * i + k], b[3 * k + j]);
      }
      EXPECT_EQ(sums[3 * i + j], sum.Sum()) << n << " " << resets;
    }
  }
}

TEST(CascadeTest, Products) {
  for (const int64_t n : {1024, 1025, 2048, 2049, 5000}) {
    ExpectProducts(n, true);
    ExpectProducts(n, false);
  }
}

// The sums of 128 blocks are added up in blocks too.
TEST(CascadeTest, ManyBlocks) {
  constexpr int64_t kAll = 128 * 1024;  // terms
  ExpectProducts(kAll + 1, true);
  ExpectProducts(3 * kAll + 5000, true);
  ExpectProducts(2 * kAll, false);
}

// No array has a cell for each block of a product, and each cell of its target.
TEST(CascadeTest, PartialSumsAreFew) {
  const LoopProgram product = Lowered(R"(product ():
  a : f32[$n, 784] on_device "data"; b : f32[$n, 300] on_device "data";
  y : f32[784, 300] on_device "data";
  y $op a * b ~logic:"k, i; k, j => i, j";
)",
                                      200'000, "=:+");
  for (const fuzz::ComparedTarget& each : fuzz::kComparedTargets) {
    const auto plan = PlanBuffers(Schedule(product, each.target));
    CHECK_OK(plan);
    EXPECT_LE(plan->arena_bytes, 24 << 20) << each.name;
  }
}

TEST(CascadeTest, Weights) {
  for (const int64_t n : {16, 33, 50}) {
    const std::vector<float> x = Random(n * 200, 1);
    const std::vector<float> g = Random(n * 1024, 2);
    const auto sums =
        RunAll(Lowered(kWeights, n, "=:+"),
               {{"x", Of({n, 10, 10, 2}, x)}, {"g", Of({n, 8, 8, 16}, g)}});
    for (int64_t cell = 0; cell < 288; ++cell) {
      const int64_t i = cell / 18, j = cell / 6 % 3, k = cell / 2 % 3;
      Cascade sum(1024);
      for (int64_t at = 0; at < 64 * n; ++at) {
        const int64_t m = at / 64, row = at / 8 % 8, column = at % 8;
        sum.AddProduct(x[((m * 10 + row + j) * 10 + column + k) * 2 + cell % 2],
                       g[16 * at + i]);
      }
      EXPECT_EQ(sums[cell], sum.Sum()) << n << " " << cell;
    }
  }
}

TEST(CascadeTest, ARepeatedCellIsNoContraction) {
  for (const int64_t n : {128, 129, 300}) {
    const std::vector<float> a = Random(3 * n, 1);
    const std::vector<float> b = Random(n, 2);
    const auto sums = RunAll(Lowered(kRepeated, n, "=:+"),
                             {{"a", Of({n, 3}, a)}, {"b", Of({n, 1}, b)}});
    for (int j = 0; j < 3; ++j) {
      Cascade sum(128);
      for (int64_t k = 0; k < n; ++k) sum.AddProduct(a[3 * k + j], b[k]);
      EXPECT_EQ(sums[j], sum.Sum()) << n;
    }
  }
}

// Zeros at the end of the outermost reduced axis change no bit, also where the
// sum starts with what is there.
TEST(CascadeTest, AppendedZerosChangeNothing) {
  struct Case {
    const char* text;
    const char* array;
    std::vector<int64_t> lengths;
  };
  const Case cases[] = {
      {kColumns, "x", {1, 127, 128, 129, 255, 256, 16383, 16384, 16385}},
      {kPlanes, "x", {1, 3, 4, 5, 8}},
      {kRows, "x", {64, 8191, 8192, 8193}},
  };
  for (const Case& each : cases) {
    for (const int64_t n : each.lengths) {
      for (const absl::string_view op : {"=:+", "=+", "=-"}) {
        std::vector<std::vector<float>> sums;
        for (const int64_t more : {0, 1, 130}) {
          const LoopProgram program = Lowered(each.text, n + more, op);
          const Dims dims = program.buffers[BufferId{0}].dims;
          const bool by_rows = each.text == kRows;
          const int64_t run = NumElements(dims) / (by_rows ? 2 : 1);
          const int64_t kept = by_rows ? n : run / (n + more) * n;
          const std::vector<float> all = Random(2 * kept, 3);
          std::vector<float> x;
          for (int row = 0; row < (by_rows ? 2 : 1); ++row) {
            x.insert(x.end(), &all[row * kept], &all[row * kept] + kept);
            x.resize(x.size() + run - kept);
          }
          const Dims cells = {by_rows ? 2 : 3};
          sums.push_back(RunAll(
              program,
              {{"x", Of(dims, x)}, {"y", Of(cells, Random(cells[0], 4))}}));
        }
        EXPECT_EQ(sums[0], sums[1]) << each.text << n << op;
        EXPECT_EQ(sums[0], sums[2]) << each.text << n << op;
      }
    }
  }
}

// The same of several blocks, whose loop is one that the sum does not have: x
// has it, and w or the result need not.
TEST(CascadeTest, BlocksHaveTheFormOfTheSum) {
  struct Case {
    const char* x;
    const char* w;
    const char* spec;
    std::vector<int64_t> lengths;
  };
  const Case cases[] = {
      {"$n", "1", "k; 0 => 0", {64, 8192, 8193, 16384, 16385}},
      {"$n,100", "100", "k, l; l => 0", {1, 81, 82, 162, 163}},
      {"$n,200,3", "200,3", "k, l, j; l, j => j", {1, 2, 128}},
      {"$n,200,3", "3", "k, l, j; j => j", {1, 2, 128}},
      {"$n,2,600,3", "2,3", "k, m, l, j; m, j => j", {1, 2, 7}},
      {"$n,40", "40,$n", "k, l; l, k => 0", {1, 2, 3, 4, 16, 131}},
  };
  for (const Case& each : cases) {
    const std::string text = absl::StrReplaceAll(
        R"(sum ():
  x : f32[$x] on_device "data"; w : f32[$w] on_device "data";
  y : f32[$y] on_device "data";
  y =:+ x * w ~logic:"$s";
)",
        {{"$x", each.x},
         {"$w", each.w},
         {"$s", each.spec},
         {"$y", absl::StrContains(each.spec, "j") ? "3" : "1"}});
    for (const int64_t n : each.lengths) {
      std::vector<std::vector<float>> sums;
      for (const int64_t more : {int64_t{0}, int64_t{1}, 2 * n + 130}) {
        const LoopProgram program = Lowered(text, n + more, "");
        const Dims& x = program.buffers[BufferId{0}].dims;
        const Dims& w = program.buffers[BufferId{1}].dims;
        std::vector<float> terms = Random(NumElements(x) / (n + more) * n, 3);
        terms.resize(NumElements(x));
        std::vector<float> factors(NumElements(w));
        for (size_t k = 0; k < factors.size(); ++k) {
          const size_t column = k % w.back();
          const size_t row = k / w.back();
          factors[k] = static_cast<float>((7 * row + 11 * column) % 31) / 16;
        }
        sums.push_back(
            RunAll(program, {{"x", Of(x, terms)}, {"w", Of(w, factors)}}));
      }
      EXPECT_EQ(sums[0], sums[1]) << each.spec << " " << n;
      EXPECT_EQ(sums[0], sums[2]) << each.spec << " " << n;
    }
  }
}

// A chain of ones in f32 stops at 2^24.
TEST(CascadeTest, ASumOfManyOnesIsExact) {
  const int64_t n = int64_t{1} << 25;
  Assignments code;
  code.name = "ones";
  const MemoryRequest kept = {MemoryMode::kOnDevice, "the test"};
  code.AddArray({"x", DType::kF32, {1}, kept});
  code.AddArray({"y", DType::kF32, {1}, kept});
  const Expr term = MakeLeaf(code.exprs, DType::kF32, 0);
  code.list.push_back(Assign{.lhs = 1,
                             .accum = Op::kAdd,
                             .reset = true,
                             .lhs_indices = {Affine(0)},
                             .rhs = term.id(),
                             .sources = {ReadArray{0, {Affine(0)}}},
                             .extents = {n}});
  const auto program = Lower(code);
  CHECK_OK(program);
  EXPECT_EQ(RunAll(*program, {{"x", Of({1}, {1})}})[0], static_cast<float>(n));
}

}  // namespace
}  // namespace ocannl
