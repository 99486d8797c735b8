// SPDX-License-Identifier: Apache-2.0
//
// Sums in blocks against a plain cascade, bit for bit on every tier; what is
// promised of their order; and their errors, as a table for docs/numerics.md:
//
//   bazel run //tests/schedule:cascade_test -- --gtest_filter=*Error*
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
#include "ocannl/fuzz/compared_tiers.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

// One chain of sums for each level of blocks.
class Cascade {
 public:
  explicit Cascade(int64_t block, float start = 0)
      : sums_{start}, blocks_{block} {}

  void Add(float term) { AddAt(0, term); }
  void AddProduct(float a, float b) {
    sums_[0] = std::fma(a, b, sums_[0]);
    Count(0);
  }

  float Sum() const {
    float sum = 0;
    for (float level : sums_) sum = level + sum;
    return sum;
  }

 private:
  void AddAt(size_t level, float term) {
    if (level == sums_.size()) {
      sums_.push_back(0);
      blocks_.push_back(128);
    }
    sums_[level] += term;
    Count(level);
  }

  void Count(size_t level) {
    counts_.resize(sums_.size());
    if (++counts_[level] < blocks_[level]) return;
    counts_[level] = 0;
    AddAt(level + 1, std::exchange(sums_[level], 0));
  }

  std::vector<float> sums_;
  std::vector<int64_t> blocks_;
  std::vector<int64_t> counts_;
};

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

TEST(CascadeTest, Products) {
  for (const int64_t n : {1024, 1025, 2048, 2049, 5000}) {
    const std::vector<float> a = Random(4 * n, 1);
    const std::vector<float> b = Random(3 * n, 2);
    const auto sums = RunAll(Lowered(kProduct, n, "=:+"),
                             {{"a", Of({4, n}, a)}, {"b", Of({n, 3}, b)}});
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 3; ++j) {
        Cascade sum(1024);
        for (int64_t k = 0; k < n; ++k) {
          sum.AddProduct(a[n * i + k], b[3 * k + j]);
        }
        EXPECT_EQ(sums[3 * i + j], sum.Sum()) << n;
      }
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
                             .lhs_indices = {Affine(0)},
                             .accum = Op::kAdd,
                             .reset = true,
                             .rhs = term.id(),
                             .sources = {ReadArray{0, {Affine(0)}}},
                             .extents = {n}});
  const auto program = Lower(code);
  CHECK_OK(program);
  EXPECT_EQ(RunAll(*program, {{"x", Of({1}, {1})}})[0], static_cast<float>(n));
}

// ---- Errors -----------------------------------------------------------------

// The root of the mean square of relative errors, in units of 2^-24.
TEST(CascadeTest, Error) {
  std::printf("| terms | chain | 64 lanes | cascade | cascade in lanes |\n");
  std::printf("|---:|---:|---:|---:|---:|\n");
  for (const int64_t n : {1000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    constexpr int kSums = 4;
    double squares[4] = {};
    for (int seed = 0; seed < kSums; ++seed) {
      std::mt19937 random(seed);
      double exact = 0;
      float chain = 0;
      std::vector<float> lanes(64);
      std::vector<Cascade> cascades(64, Cascade(128));
      Cascade cascade(128);
      for (int64_t k = 0; k < n; ++k) {
        const float term = static_cast<float>(random()) * 0x1p-32f;
        exact += term;
        chain += term;
        lanes[k % 64] += term;
        cascade.Add(term);
        cascades[k % 64].Add(term);
      }
      std::vector<float> sums;
      for (const Cascade& lane : cascades) sums.push_back(lane.Sum());
      auto tree = [](std::vector<float> values) {
        for (int half = 32; half > 0; half /= 2) {
          for (int k = 0; k < half; ++k) values[k] += values[k + half];
        }
        return values[0];
      };
      const float results[] = {chain, tree(lanes), cascade.Sum(), tree(sums)};
      for (int k = 0; k < 4; ++k) {
        const double error = (results[k] - exact) / exact * 0x1p24;
        squares[k] += error * error / kSums;
      }
    }
    std::printf("| %lld |", static_cast<long long>(n));
    for (double square : squares) std::printf(" %.2g |", std::sqrt(square));
    std::printf("\n");
    EXPECT_LT(std::sqrt(squares[2]), 4) << n;
    EXPECT_LT(std::sqrt(squares[3]), 2) << n;
  }
}

}  // namespace
}  // namespace ocannl
