// SPDX-License-Identifier: Apache-2.0
//
// What changes no bit of a sum: how many rows there are, and zeros behind its
// terms.
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/loop/print.h"
#include "tests/agree/all_tiers.h"
#include "tests/schedule/one_reduction.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

// y[b, o] =:+ x[b, k] * w[o, k], or with `=+` if not `reset`.
Assignments Product(int64_t b, int64_t o, int64_t k, bool reset) {
  Assignments code = Code({b, o}, {k}, Kind::kSum, DType::kF32, reset);
  code.arrays[0].dims = {b, k};
  code.AddArray({"w", DType::kF32, {o, k}, kKept});
  Assign& assign = std::get<Assign>(code.list[0]);
  const Affine row = Iterator({0}), column = Iterator({1}), at = Iterator({2});
  assign.sources = {ReadArray{0, {row, at}}, ReadArray{2, {column, at}}};
  assign.rhs = (MakeLeaf(code.exprs, DType::kF32, 0) *
                MakeLeaf(code.exprs, DType::kF32, 1))
                   .id();
  return code;
}

std::string Lost(const Assignments& code, const Arrays& inputs,
                 const Arrays& expected) {
  const LoopProgram program = Lowered(code);
  std::string difference;
  const auto result = fuzz::OnEachTier([&](const Backend& tier) -> std::string {
    absl::StatusOr<RunResult> left = RunProgram(program, inputs, tier);
    if (!left.ok()) return std::string(left.status().message());
    return Difference(expected, *left);
  });
  return result ? "" : absl::StrCat(result.message(), "\n", Print(program));
}

// A chain whatever the extents of what stays are, so that a row has the same
// bits in every batch.
TEST(SumOrderTest, AProductIsAChainForEveryBatch) {
  std::mt19937 random(7);
  for (const int64_t k : {1, 2, 3, 31, 33, 65}) {
    const NdArray x = RandomArray<float>({64, k}, Kind::kDot, random);
    const NdArray w = RandomArray<float>({33, k}, Kind::kDot, random);
    for (const int64_t b : {1, 2, 64}) {
      for (const int64_t o : {1, 3, 33}) {
        auto rows = [&](const NdArray& of, int64_t count) {
          const float* cells = of.values<float>().data();
          return NdArray::Of({count, k},
                             std::vector<float>(cells, cells + count * k));
        };
        std::vector<float> expected;
        for (int64_t cell = 0; cell < b * o; ++cell) {
          float sum = 0;
          for (int64_t at = 0; at < k; ++at) {
            sum = std::fma(x.values<float>()[cell / o * k + at],
                           w.values<float>()[cell % o * k + at], sum);
          }
          expected.push_back(sum);
        }
        EXPECT_EQ(Lost(Product(b, o, k, /*reset=*/true),
                       {{"x", rows(x, b)}, {"w", rows(w, o)}},
                       {{"y", NdArray::Of({b, o}, expected)}}),
                  "");
      }
    }
  }
}

// Terms of -0, and products that underflow to it, in sums, chains and extremes,
// also where the result was -0 before.
TEST(SumOrderTest, AResultOfZeroIsPositive) {
  auto all = [](const Dims& dims, float value) {
    return NdArray::Of(dims, std::vector<float>(NumElements(dims), value));
  };
  for (const int64_t k : {1, 2, 20, 40, 100}) {
    for (const bool reset : {true, false}) {
      SCOPED_TRACE(absl::StrCat(k, " terms, reset: ", reset));
      for (Kind kind : {Kind::kSum, Kind::kDot, Kind::kMax, Kind::kMin}) {
        // Each product is -1e-60.
        const float term = kind == Kind::kDot ? -1e-30F : -0.0F;
        Arrays inputs = {{"x", all({3, k}, term)}, {"w", all({3, k}, 1e-30F)}};
        if (kind != Kind::kDot) inputs.erase("w");
        if (!reset) inputs.emplace("y", all({3}, -0.0F));
        EXPECT_EQ(Lost(Code({3}, {k}, kind, DType::kF32, reset), inputs,
                       {{"y", all({3}, 0)}}),
                  "");
      }
      Arrays inputs = {{"x", all({2, k}, -1e-30F)}, {"w", all({3, k}, 1e-30F)}};
      if (!reset) inputs.emplace("y", all({2, 3}, -0.0F));
      EXPECT_EQ(Lost(Product(2, 3, k, reset), inputs, {{"y", all({2, 3}, 0)}}),
                "");
    }
  }
}

// Also of a single term: y =:- x is -x.
TEST(SumOrderTest, ADifferenceOfOneTermIsNegative) {
  for (const int64_t k : {1, 2}) {
    Assignments code = Code({2}, {k}, Kind::kSum, DType::kF32, /*reset=*/true);
    std::get<Assign>(code.list[0]).accum = Op::kSub;
    EXPECT_EQ(
        Lost(code, {{"x", NdArray::Of({2, k}, std::vector<float>(2 * k, 3))}},
             {{"y", NdArray::Of({2}, std::vector<float>(2, -3.0F * k))}}),
        "");
  }
}

// The bits of a row do not depend on how far it is padded with zeros.
TEST(SumOrderTest, ZerosBehindARunChangeNoBit) {
  std::mt19937 random(7);
  for (const int64_t k : {1, 2, 3, 16, 31, 32, 33, 64, 65}) {
    const NdArray x = RandomArray<float>({k, 5}, Kind::kSum, random);
    for (const Dims& row : {Dims{}, Dims{5}}) {
      std::optional<RunResult> unpadded;
      for (const int64_t length : {k, k + 1, int64_t{66}, int64_t{200}}) {
        std::vector<float> cells(
            x.values<float>().begin(),
            x.values<float>().begin() + k * NumElements(row));
        Dims dims = {length};
        dims.insert(dims.end(), row.begin(), row.end());
        cells.resize(NumElements(dims));
        absl::StatusOr<RunResult> result =
            RunProgram(Lowered(Code({}, dims, Kind::kSum, DType::kF32, true)),
                       {{"x", NdArray::Of(dims, cells)}});
        ASSERT_TRUE(result.ok()) << result.status();
        if (!unpadded) unpadded = *result;
        EXPECT_EQ(Difference(*unpadded, *result), "") << k << ", " << length;
      }
    }
  }
}

}  // namespace
}  // namespace ocannl
