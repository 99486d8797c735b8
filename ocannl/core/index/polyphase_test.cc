// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/polyphase.h"

#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

const Affine o = Iterator({0});
const Affine k = Iterator({1});

int64_t At(const Affine& index, const std::vector<int64_t>& point) {
  int64_t value = index.offset();
  for (const Affine::Term& term : index.terms()) {
    value += term.factor * point[term.symbol.number];
  }
  return value;
}

// How often each cell of lhs gets the term of each window and cell of it, of
// those that are not outside.
using Terms = std::map<std::vector<int64_t>, int>;

void AddTerms(const Projections& sum, int64_t dim, int64_t windows,
              Terms& terms) {
  ASSERT_EQ(sum.extents.size(), 2u);
  for (int64_t a = 0; a < sum.extents[{0}]; ++a) {
    for (int64_t b = 0; b < sum.extents[{1}]; ++b) {
      const std::vector<int64_t> point = {a, b};
      const int64_t cell = At(sum.lhs[0], point);
      const int64_t window = At(sum.operands[0][0], point);
      if (cell < 0 || cell >= dim || window < 0 || window >= windows) continue;
      ++terms[{cell, window, At(sum.operands[1][0], point)}];
    }
  }
}

TEST(PolyphaseTest, TheTermsOfEachCellAreTheSame) {
  std::mt19937 random(1);
  auto draw = [&](int64_t most) {
    return 1 + static_cast<int64_t>(random() % most);
  };
  int changed = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const int64_t windows = draw(6), cells = draw(5), stride = draw(4);
    const int64_t dilation = draw(4), dim = draw(24), offset = draw(6) - 4;
    const Projections sum = {.extents = {windows, cells},
                             .lhs = {stride * o + dilation * k + offset},
                             .operands = {{o}, {k}}};
    Terms expected, actual;
    AddTerms(sum, dim, windows, expected);
    const auto parts = DecomposePhases(sum, 0, {dim}, {windows});
    for (const Projections& part : parts) {
      AddTerms(part, dim, windows, actual);
      if (stride > 1 && dilation > 1) continue;
      if (part == sum) continue;  // disjoint windows
      ++changed;
      EXPECT_EQ(part.lhs[0].terms().size(), 1u);
      const int64_t last = At(part.lhs[0], {part.extents[{0}] - 1, 0});
      EXPECT_GE(At(part.lhs[0], {0, 0}), 0);
      EXPECT_LT(last, dim);
    }
    EXPECT_EQ(actual, expected)
        << stride << "*o + " << dilation << "*k + " << offset << ", " << windows
        << " windows of " << cells << " in " << dim;
  }
  EXPECT_GT(changed, 1000);
}

TEST(PolyphaseTest, WhatIsNoWindowStays) {
  auto expect_same = [](const Projections& sum,
                        std::vector<int64_t> window_dims) {
    EXPECT_EQ(DecomposePhases(sum, 0, {9, 9}, window_dims),
              std::vector<Projections>{sum});
  };
  // The operand does not run over the windows, or not over all of its axis.
  expect_same({{4, 3}, {o + k, 0}, {{2 * o + k}}}, {9});
  expect_same({{4, 3}, {o + k, 0}, {{o}}}, {5});
  // A diagonal; a static index; too many phases.
  expect_same({{4, 3}, {o + k, o}, {{o}}}, {4});
  expect_same({{4, 3}, {o + Static(0), 0}, {{o}}}, {4});
  expect_same({{4, 17}, {17 * o + k, 0}, {{o}}}, {4});
}

}  // namespace
}  // namespace ocannl
