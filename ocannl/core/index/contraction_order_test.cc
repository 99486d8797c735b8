// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/contraction_order.h"

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

LoopSet SetOf(absl::string_view letters, size_t loops) {
  LoopSet set(loops, false);
  for (char letter : letters) set[{letter - 'a'}] = true;
  return set;
}

// Loop 0 is a, loop 1 is b: a product as "ab;bc=>ac".
struct Text {
  Text(absl::string_view text, LoopExtents sizes) : extents(std::move(sizes)) {
    std::vector<std::string> sides = absl::StrSplit(text, "=>");
    for (absl::string_view factor : absl::StrSplit(sides[0], ';')) {
      factors.push_back(SetOf(factor, extents.size()));
    }
    result = SetOf(sides[1], extents.size());
  }

  std::vector<ContractionStep> Steps() const {
    return ContractionOrder(extents, factors, result);
  }

  // "1*2=ac": factors 1 and 2, and which loops are left; "0=a" of one.
  std::string Order() const {
    std::string order;
    for (const ContractionStep& step : Steps()) {
      absl::StrAppend(&order, order.empty() ? "" : " ", step.left);
      if (step.right >= 0) absl::StrAppend(&order, "*", step.right);
      order += '=';
      for (IteratorId k : step.kept.ids()) {
        if (step.kept[k]) order += static_cast<char>('a' + k.index);
      }
    }
    return order;
  }

  LoopExtents extents;
  std::vector<LoopSet> factors;
  LoopSet result;
};

TEST(ContractionOrder, MultipliesAVectorFirst) {
  EXPECT_EQ(Text("ab;bc;cd;d=>a", {9, 9, 9, 9}).Order(), "2*3=c 1*4=b 0*5=a");
  EXPECT_EQ(Text("a;ab;bc;cd=>d", {9, 9, 9, 9}).Order(), "0*1=b 4*2=c 5*3=d");
}

TEST(ContractionOrder, IsAMatterOfSizes) {
  EXPECT_EQ(Text("ab;bc;cd;de=>ae", {9, 9, 2, 9, 9}).Order(),
            "0*1=ac 2*3=ce 4*5=ae");
  EXPECT_EQ(Text("ab;bc;cd;de=>ae", {9, 9, 9, 2, 9}).Order(),
            "1*2=bd 0*4=ad 5*3=ae");
}

// The gradient of a weight bc, where rows are padded.
TEST(ContractionOrder, IsNoMatterOfTheOutermostExtent) {
  for (int64_t a : {1, 2, 3, 64, 1000}) {
    EXPECT_EQ(Text("ab;ad;dc=>bc", {a, 30, 20, 7}).Order(),
              Text("ab;ad;dc=>bc", {64, 30, 20, 7}).Order());
  }
}

// A batch a and an output e, by two layers.
TEST(ContractionOrder, IsNoMatterOfTheExtentsOfTheResult) {
  for (int64_t a : {1, 2, 3, 64, 1000}) {
    for (int64_t e : {1, 64, 1000}) {
      EXPECT_EQ(Text("ab;bc;cd;de=>ae", {a, 5, 40, 7, e}).Order(),
                Text("ab;bc;cd;de=>ae", {64, 5, 40, 7, 64}).Order());
      EXPECT_EQ(Text("ab;bc;ce=>ae", {a, 30, 20, 0, e}).Order(),
                Text("ab;bc;ce=>ae", {64, 30, 20, 0, 64}).Order());
    }
  }
}

TEST(ContractionOrder, SumsFirstWhatOneFactorHasAlone) {
  EXPECT_EQ(Text("ab;cd;ef;gh=>", LoopExtents(8, 5)).Order(),
            "0= 1= 2= 3= 6*7= 5*8= 4*9=");
  EXPECT_EQ(Text("ab;bc;b;b=>", {4, 5, 6}).Order(), "0=b 1=b 2*3=b 5*6=b 4*7=");
}

TEST(ContractionOrder, KeepsWhatTheResultHas) {
  EXPECT_EQ(Text("a;a;a;a=>a", {7}).Order(), "2*3=a 1*4=a 0*5=a");
  EXPECT_EQ(Text("a;b;c;d=>abcd", {2, 2, 2, 2}).Steps().back().kept,
            LoopSet(4, true));
}

TEST(ContractionOrder, OfOneFactorIsItsSum) {
  EXPECT_EQ(Text("ab=>a", {2, 3}).Order(), "0=a");
  EXPECT_EQ(Text("ab=>ab", {2, 3}).Order(), "");
}

bool IsRead(const Text& text, IteratorId k) {
  return std::any_of(text.factors.begin(), text.factors.end(),
                     [&](const LoopSet& factor) { return factor[k]; });
}

double SizeOf(const Text& text, IteratorId k) {
  IteratorId outermost = {0};  // of the loops that are summed
  while (outermost < text.extents.next_id() &&
         (text.result[outermost] || !IsRead(text, outermost))) {
    ++outermost.index;
  }
  const bool has_one_size = text.result[k] || k == outermost;
  return static_cast<double>(has_one_size ? kOneSize : text.extents[k]);
}

// What the steps cost from here on, of all orders the least.
double Least(const Text& text, std::vector<LoopSet> items) {
  if (items.size() == 1) return 0;
  double least = -1;
  for (size_t i = 0; i < items.size(); ++i) {
    for (size_t j = i + 1; j < items.size(); ++j) {
      std::vector<LoopSet> rest;
      LoopSet beside = text.result;
      LoopSet product = items[i];
      for (IteratorId k : product.ids()) {
        product[k] = product[k] || items[j][k];
      }
      for (size_t other = 0; other < items.size(); ++other) {
        if (other == i || other == j) continue;
        rest.push_back(items[other]);
        for (IteratorId k : product.ids()) {
          beside[k] = beside[k] || items[other][k];
        }
      }
      double cost = 1;
      for (IteratorId k : product.ids()) {
        if (product[k]) cost *= SizeOf(text, k);
        product[k] = product[k] && beside[k];
      }
      rest.push_back(product);
      cost += Least(text, rest);
      if (least < 0 || cost < least) least = cost;
    }
  }
  return least;
}

// Of the steps on pairs.
double CostOf(const Text& text) {
  std::vector<LoopSet> loops = text.factors;
  double cost = 0;
  for (const ContractionStep& step : text.Steps()) {
    double points = step.right < 0 ? 0 : 1;
    for (IteratorId k : text.extents.ids()) {
      const bool has =
          loops[step.left][k] || (step.right >= 0 && loops[step.right][k]);
      if (has) points *= SizeOf(text, k);
    }
    cost += points;
    loops.push_back(step.kept);
  }
  return cost;
}

// A product of `factors` in which each loop is in two of them or in one and the
// result.
Text Random(std::mt19937& random, int factors, int loops) {
  auto below = [&](int most) { return static_cast<int>(random() % most); };
  Text text("=>", {});
  for (int k = 0; k < loops; ++k) {
    text.extents.push_back(2 + below(10));
  }
  text.factors.assign(factors, LoopSet(loops, false));
  text.result = LoopSet(loops, false);
  for (IteratorId k : text.extents.ids()) {
    const int first = below(factors);
    const int second = below(factors);
    text.factors[first][k] = true;
    (first == second ? text.result : text.factors[second])[k] = true;
  }
  return text;
}

TEST(ContractionOrder, CostsLeastOfAllOrders) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const Text text = Random(random, 2 + trial % 5, 8);
    EXPECT_EQ(CostOf(text), Least(text, text.factors));
  }
}

// Greedy orders of chains, trees and random networks stay near the best.
TEST(ContractionOrder, OfManyFactorsIsNotFarFromTheBest) {
  const int64_t n = kOneSize;
  std::string chain;
  for (char c = 'a'; c < 'u'; ++c) {
    absl::StrAppend(&chain, chain.empty() ? "" : ";", std::string{c},
                    std::string{static_cast<char>(c + 1)});
  }
  const Text vector(chain + ";u=>a", LoopExtents(21, n));
  EXPECT_EQ(CostOf(vector), 20.0 * n * n);
  const Text matrix(chain + "=>au", LoopExtents(21, n));
  EXPECT_EQ(CostOf(matrix), 19.0 * n * n * n);
  EXPECT_EQ(matrix.Steps().size(), 19u);
}

// Every factor and every step but the last is used once.
TEST(ContractionOrder, UsesEachFactorOnce) {
  std::mt19937 random(2);
  for (int factors : {2, 8, 9, 20, 64}) {
    const Text text = Random(random, factors, 70);
    std::vector<int> used;
    for (const ContractionStep& step : text.Steps()) {
      used.push_back(step.left);
      if (step.right >= 0) used.push_back(step.right);
    }
    std::sort(used.begin(), used.end());
    ASSERT_EQ(used.size(), factors + text.Steps().size() - 1);
    for (size_t k = 0; k < used.size(); ++k) {
      EXPECT_EQ(used[k], static_cast<int>(k));
    }
    EXPECT_EQ(text.Steps(), text.Steps());
  }
}

}  // namespace
}  // namespace ocannl
