// SPDX-License-Identifier: Apache-2.0
//
// Lowered reductions against plain loops, bit for bit: which lane takes which
// element, and the order in which the lanes are added up.
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "ocannl/core/assign/assignments.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/loop/lower.h"
#include "ocannl/core/loop/print.h"
#include "ocannl/core/loop/verify.h"
#include "tests/agree/all_tiers.h"
#include "tests/support/compiles_once.h"
#include "tests/support/run_program.h"

namespace ocannl {
namespace {

// What one cell of the result reduces: `slabs` runs of memory, each spread over
// `lanes` anew.
struct Layout {
  Dims reduced;
  int lanes;
  int64_t slab;
};

const std::vector<Layout>& Layouts() {
  static const auto* layouts = new std::vector<Layout>{
      {{1}, 1, 1},           {{2}, 2, 2},          {{3}, 3, 3},
      {{16}, 16, 16},        {{17}, 17, 17},       {{3, 4}, 12, 12},
      {{31}, 31, 31},        {{32}, 32, 32},       {{33}, 33, 33},
      {{63}, 63, 63},        {{64}, 64, 64},       {{65}, 64, 65},
      {{100}, 64, 100},      {{127}, 64, 127},     {{128}, 64, 128},
      {{1000}, 64, 1000},    {{3, 10}, 30, 30},    {{4, 10}, 40, 40},
      {{80, 10}, 60, 800},   {{4, 16}, 64, 64},    {{9, 16}, 64, 144},
      {{3, 100}, 64, 100},   {{7, 33}, 33, 33},    {{40, 2}, 64, 80},
      {{2, 3, 10}, 60, 60},  {{3, 4, 10}, 40, 40}, {{9, 2, 10}, 60, 180},
      {{2, 2, 100}, 64, 100}};
  return *layouts;
}

enum class Kind { kSum, kDot, kProduct, kMax, kMin };

Op OpOf(Kind kind) {
  return kind == Kind::kProduct ? Op::kMul
         : kind == Kind::kMax   ? Op::kMax
         : kind == Kind::kMin   ? Op::kMin
                                : Op::kAdd;
}

const MemoryRequest kKept = {MemoryMode::kOnDevice, "the test"};

// y[o] (=:+ if `reset`) the reduction of x[o, ...], times w[o, ...] for a dot.
Assignments Code(const Dims& output, const Dims& reduced, Kind kind,
                 DType dtype, bool reset) {
  Assignments code;
  code.name = "reduce";
  Dims dims = output;
  dims.insert(dims.end(), reduced.begin(), reduced.end());
  Indices all;
  LoopExtents extents;
  for (int64_t dim : dims) all.push_back(Iterator(extents.Add(dim)));
  Indices kept(all.begin(), all.begin() + output.size());
  code.AddArray({"x", dtype, dims, kKept});
  code.AddArray({"y", dtype, output, kKept});
  Expr term = MakeLeaf(code.exprs, dtype, 0);
  std::vector<Source> sources = {ReadArray{0, all}};
  if (kind == Kind::kDot) {
    code.AddArray({"w", dtype, dims, kKept});
    term = term * MakeLeaf(code.exprs, dtype, 1);
    sources.push_back(ReadArray{2, all});
  }
  code.list.push_back(Assign{.lhs = 1,
                             .lhs_indices = kept,
                             .accum = OpOf(kind),
                             .reset = reset,
                             .rhs = term.id(),
                             .sources = sources,
                             .extents = extents});
  return code;
}

LoopProgram Lowered(const Assignments& code) {
  absl::StatusOr<LoopProgram> program = Lower(code);
  CHECK_OK(program);
  CHECK_OK(Verify(*program));
  return *std::move(program);
}

// Numbers of all sizes and both signs, so that every order rounds otherwise;
// for products near 1.
template <class T>
NdArray RandomArray(const Dims& dims, Kind kind, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<T> values(NumElements(dims));
  for (T& value : values) {
    double size = kind == Kind::kProduct ? 0.5 + unit(random)
                                         : std::exp2(16 * unit(random) - 8);
    value = static_cast<T>(random() % 2 == 0 ? size : -size);
  }
  return NdArray::Of(dims, values);
}

template <class T>
T Combine(Kind kind, T a, T b) {
  switch (kind) {
    case Kind::kSum:
    case Kind::kDot:
      return a + b;
    case Kind::kProduct:
      return a * b;
    case Kind::kMax:
      return b > a || std::isnan(b) ? b : a;
    case Kind::kMin:
      return b < a || std::isnan(b) ? b : a;
  }
  return a;
}

// The definition, in plain loops; `y` is what the result held before.
template <class T>
T Reduced(Kind kind, const T* x, const T* w, const Layout& layout, T y) {
  T neutral = static_cast<T>(NeutralElement(OpOf(kind)));
  std::vector<T> acc(layout.lanes, layout.lanes > 1 ? neutral : y);
  for (int64_t k = 0; k < NumElements(layout.reduced); ++k) {
    T& lane = acc[k % layout.slab % layout.lanes];
    lane = kind == Kind::kDot ? std::fma(x[k], w[k], lane)
                              : Combine(kind, lane, x[k]);
  }
  int live = layout.lanes;
  for (int half = 32; half > 0; half /= 2) {
    for (int lane = 0; lane < half && lane + half < live; ++lane) {
      acc[lane] = Combine(kind, acc[lane], acc[lane + half]);
    }
    live = std::min(live, half);
  }
  return layout.lanes > 1 ? Combine(kind, y, acc[0]) : acc[0];
}

template <class T>
void Check(const Dims& output, const Layout& layout, Kind kind, bool reset) {
  const DType dtype = sizeof(T) == 4 ? DType::kF32 : DType::kF64;
  LoopProgram program =
      Lowered(Code(output, layout.reduced, kind, dtype, reset));
  const std::string text = Print(program);
  const int64_t most = layout.reduced.size() > 1 ? 64 : 16;
  const bool is_tree =
      layout.lanes == NumElements(layout.reduced) && layout.lanes <= most;
  const bool is_short_extreme =
      (kind == Kind::kMax || kind == Kind::kMin) && layout.lanes < 32;
  EXPECT_EQ(absl::StrContains(text, "y.lanes"), !is_tree && !is_short_extreme)
      << text;
  std::mt19937 random(7);
  Arrays inputs;
  for (const Buffer& buffer : program.buffers) {
    if (!IsInput(buffer.role)) continue;
    inputs.emplace(buffer.name, RandomArray<T>(buffer.dims, kind, random));
  }
  absl::StatusOr<RunResult> result = RunProgram(program, inputs);
  ASSERT_TRUE(result.ok()) << result.status();
  auto values = [&](const std::string& name) {
    auto found = inputs.find(name);
    return found == inputs.end() ? nullptr : found->second.values<T>().data();
  };
  std::vector<T> expected;
  for (int64_t cell = 0; cell < NumElements(output); ++cell) {
    const int64_t first = cell * NumElements(layout.reduced);
    const T* x = values("x") + first;
    const T* w = kind == Kind::kDot ? values("w") + first : nullptr;
    T before =
        reset ? static_cast<T>(NeutralElement(OpOf(kind))) : values("y")[cell];
    expected.push_back(Reduced<T>(kind, x, w, layout, before));
  }
  EXPECT_EQ(Difference({{"y", NdArray::Of(output, expected)}}, *result), "")
      << text;
}

TEST(SplitReduceTest, LanesAndTreeAreThoseOfPlainLoops) {
  for (const Layout& layout : Layouts()) {
    SCOPED_TRACE(absl::StrCat("dims ", absl::StrJoin(layout.reduced, ", ")));
    for (Kind kind :
         {Kind::kSum, Kind::kDot, Kind::kProduct, Kind::kMax, Kind::kMin}) {
      for (const Dims& output : {Dims{}, Dims{3}, Dims{2, 3}}) {
        for (bool reset : {true, false}) {
          Check<float>(output, layout, kind, reset);
          Check<double>(output, layout, kind, reset);
        }
      }
    }
  }
}

// Of the cells of x and y, which the program has.
std::string PlaceOfLostNaN(const LoopProgram& program, const Backend& tier) {
  std::mt19937 random(7);
  NdArray x = RandomArray<float>(program.buffers[{0}].dims, Kind::kMax, random);
  absl::Span<float> cells = x.values<float>();
  const CompilesOnce once(&tier);
  for (size_t place = 0; place < cells.size(); ++place) {
    const float number = std::exchange(cells[place], NAN);
    absl::StatusOr<RunResult> result = RunProgram(program, {{"x", x}}, once);
    if (!result.ok()) return std::string(result.status().message());
    int nans = 0;
    for (float y : result->at("y").values<float>()) nans += std::isnan(y);
    if (nans != 1) return absl::StrCat(nans, " of a NaN at ", place);
    cells[place] = number;
  }
  return "";
}

TEST(SplitReduceTest, ANaNInIsANaNOutWhateverItsPlace) {
  std::vector<Dims> lengths = {{3}, {20}, {150}};
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  lengths.push_back({330});  // each place on each tier: minutes with those
#endif
  for (Kind kind : {Kind::kMax, Kind::kMin}) {
    // In lanes, and in order.
    for (const Dims& reduced : lengths) {
      const LoopProgram program =
          Lowered(Code({2}, reduced, kind, DType::kF32, /*reset=*/true));
      EXPECT_TRUE(fuzz::OnEachTier(
          [&](const Backend& tier) { return PlaceOfLostNaN(program, tier); }));
    }
  }
}

TEST(SplitReduceTest, OuterLoopsRunAroundTheLanes) {
  // y[b] =:+ x[r, b, k]
  constexpr int64_t kR = 5, kB = 3, kK = 70;
  Assignments code = Code({kB}, {kR, kK}, Kind::kSum, DType::kF32, true);
  code.arrays[0].dims = {kR, kB, kK};
  Assign& assign = std::get<Assign>(code.list[0]);
  std::get<ReadArray>(assign.sources[0]).indices = {
      Iterator({1}), Iterator({0}), Iterator({2})};
  std::mt19937 random(7);
  NdArray x = RandomArray<float>({kR, kB, kK}, Kind::kSum, random);
  absl::StatusOr<RunResult> result = RunProgram(Lowered(code), {{"x", x}});
  ASSERT_TRUE(result.ok()) << result.status();
  std::vector<float> expected;
  for (int64_t b = 0; b < kB; ++b) {
    std::vector<float> cells;
    for (int64_t r = 0; r < kR; ++r) {
      const float* row = x.values<float>().data() + (r * kB + b) * kK;
      cells.insert(cells.end(), row, row + kK);
    }
    expected.push_back(Reduced<float>(Kind::kSum, cells.data(), nullptr,
                                      {{kR, kK}, 64, kK}, 0));
  }
  EXPECT_EQ(Difference({{"y", NdArray::Of({kB}, expected)}}, *result), "");
}

TEST(SplitReduceTest, TheErrorIsThatOfAShorterSum) {
  constexpr int64_t kLength = 100'000;
  LoopProgram program =
      Lowered(Code({}, {kLength}, Kind::kSum, DType::kF32, true));
  std::mt19937 random(7);
  NdArray x = RandomArray<float>({kLength}, Kind::kSum, random);
  absl::StatusOr<RunResult> result = RunProgram(program, {{"x", x}});
  ASSERT_TRUE(result.ok()) << result.status();
  double exact = 0;
  double size = 0;
  float in_order = 0;
  for (float value : x.values<float>()) {
    exact += value;
    size += std::abs(value);
    in_order += value;
  }
  const double error = std::abs(result->at("y").AsDouble(0) - exact);
  // Each element passes through as many roundings as its lane and the tree
  // have, each of half a unit in the last place.
  const double roundings = std::ceil(kLength / 64.0) + 6;
  EXPECT_LE(error, roundings * std::exp2(-24) * size);
  EXPECT_LT(error, std::abs(in_order - exact) / 4);
}

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
TEST(SplitReduceTest, AProductIsAChainForEveryBatch) {
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
TEST(SplitReduceTest, AResultOfZeroIsPositive) {
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

// The bits of a row do not depend on how far it is padded with zeros.
TEST(SplitReduceTest, ZerosBehindARunChangeNoBit) {
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

bool Splits(const Assignments& code) {
  return absl::StrContains(Print(Lowered(code)), ".lanes");
}

TEST(SplitReduceTest, WhatHasNoNeedStaysInOrder) {
  Assignments code = Code({}, {64}, Kind::kSum, DType::kI32, true);
  EXPECT_FALSE(Splits(code));
  code = Code({}, {64}, Kind::kMin, DType::kI32, true);
  EXPECT_TRUE(Splits(code));
  code = Code({}, {64}, Kind::kSum, DType::kF32, true);
  EXPECT_TRUE(Splits(code));
  std::get<Assign>(code.list[0]).accum = Op::kSub;
  EXPECT_FALSE(Splits(code));
  // x[k] is read while y, which is x too, changes.
  code = Code({1}, {64}, Kind::kSum, DType::kF32, false);
  code.arrays[0].dims = {64};
  Assign& assign = std::get<Assign>(code.list[0]);
  assign.lhs_indices = {Iterator({0})};
  std::get<ReadArray>(assign.sources[0]).indices = {Iterator({1})};
  EXPECT_TRUE(Splits(code));
  assign.lhs = 0;
  EXPECT_FALSE(Splits(code));
}

TEST(SplitReduceTest, EachReductionHasItsOwnLanes) {
  Assignments code = Code({}, {64}, Kind::kSum, DType::kF32, true);
  code.list.push_back(code.list[0]);
  code.AddArray({"y.lanes_2", DType::kF32, {}, kKept});
  code.list.push_back(code.list[0]);
  std::get<Assign>(code.list[2]).lhs = 2;
  std::string text = Print(Lowered(code));
  for (const char* name : {"y.lanes ", "y.lanes_3 ", "y.lanes_2.lanes "}) {
    EXPECT_TRUE(absl::StrContains(text, absl::StrCat("private ", name)))
        << name << "\n"
        << text;
  }
}

}  // namespace
}  // namespace ocannl
