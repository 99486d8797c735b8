// SPDX-License-Identifier: Apache-2.0
//
// Lowered reductions against plain loops, bit for bit: which lane takes which
// element, and the order in which the lanes are added up.
#include <algorithm>
#include <cmath>
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
#include "ocannl/core/loop/print.h"
#include "tests/agree/all_tiers.h"
#include "tests/schedule/one_reduction.h"
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
