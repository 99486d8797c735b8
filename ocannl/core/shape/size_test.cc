// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/size.h"

#include <array>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(SizeSystem, AComputedAxisIsWhatItCovers) {
  SizeSystem sizes;
  int one = sizes.Add(RowRole::kComputed), five = sizes.Add(RowRole::kComputed);
  int sum = sizes.Add(RowRole::kComputed);
  sizes.Set(one, 1, true);
  sizes.Set(five, 5, false);
  sizes.Cover(sum, one);
  sizes.Cover(sum, five);
  EXPECT_TRUE(sizes.Solve().covers.empty());
  EXPECT_EQ(sizes.Size(sum), 5);
}

TEST(SizeSystem, OnlyABroadcastable1IsCoveredByAnotherSize) {
  SizeSystem sizes;
  int one = sizes.Add(RowRole::kComputed), five = sizes.Add(RowRole::kComputed);
  int broadcastable = sizes.Add(RowRole::kComputed);
  sizes.Set(one, 1, false);
  sizes.Set(five, 5, false);
  sizes.Set(broadcastable, 1, true);
  sizes.Cover(five, broadcastable);
  sizes.Cover(five, one);
  EXPECT_EQ(sizes.Solve().covers, std::vector<int>{1});
}

TEST(SizeSystem, AResultBroadcastsWhateverItsUsesSay) {
  SizeSystem sizes;
  int given = sizes.Add(RowRole::kComputed),
      five = sizes.Add(RowRole::kComputed);
  int one = sizes.Add(RowRole::kComputed), copy = sizes.Add(RowRole::kComputed);
  int product = sizes.Add(RowRole::kComputed);
  sizes.Set(given, 1, false);
  sizes.Set(five, 5, false);
  sizes.Set(one, 1, true);
  sizes.Follow(copy, one);
  sizes.Follow(product, copy);
  sizes.Follow(product, given);
  for (int other : {one, copy, product})
    EXPECT_TRUE(sizes.Equate(given, other));
  for (int axis : {one, copy, product}) sizes.Cover(five, axis);
  EXPECT_EQ(sizes.Solve().covers, std::vector<int>{2});
}

TEST(SizeSystem, ALeafIsWhatItsUsesAreOrABroadcastable1) {
  SizeSystem sizes;
  int three = sizes.Add(RowRole::kComputed),
      four = sizes.Add(RowRole::kComputed);
  int alike = sizes.Add(RowRole::kParameter),
      mixed = sizes.Add(RowRole::kParameter);
  int never = sizes.Add(RowRole::kParameter), leaf = sizes.Add(RowRole::kLeaf);
  sizes.Set(three, 3, false);
  sizes.Set(four, 4, false);
  sizes.Cover(three, alike);
  sizes.Cover(three, mixed);
  sizes.Cover(four, mixed);
  EXPECT_TRUE(sizes.Solve().covers.empty());
  EXPECT_EQ(sizes.Size(alike), 3);
  EXPECT_EQ(sizes.Size(mixed), 1);
  EXPECT_EQ(sizes.Size(never), 0);
  EXPECT_EQ(sizes.Size(leaf), 1);
}

TEST(SizeSystem, AUseReachesALeafThroughResults) {
  SizeSystem sizes;
  int leaf = sizes.Add(RowRole::kParameter),
      use = sizes.Add(RowRole::kComputed);
  sizes.Set(use, 7, false);
  int above = use;
  for (int i = 0; i < 3; ++i) {
    int result = sizes.Add(RowRole::kComputed);
    sizes.Cover(above, result);
    above = result;
  }
  sizes.Cover(above, leaf);
  EXPECT_TRUE(sizes.Solve().covers.empty());
  EXPECT_EQ(sizes.Size(leaf), 7);
  EXPECT_EQ(sizes.Size(above), 7);
}

TEST(SizeSystem, AnOpenParameterIsNotDeterminedByWhatItIsUsedFor) {
  SizeSystem sizes;
  int parameter = sizes.Add(RowRole::kParameter);
  int result = sizes.Add(RowRole::kComputed);
  sizes.Cover(result, parameter);
  sizes.Solve();
  EXPECT_EQ(sizes.Size(parameter), 0);
}

TEST(SizeSystem, EquationsContradict) {
  SizeSystem sizes;
  int a = sizes.Add(RowRole::kComputed), b = sizes.Add(RowRole::kComputed);
  int c = sizes.Add(RowRole::kComputed);
  sizes.Set(a, 3, false);
  sizes.Set(b, 4, false);
  EXPECT_TRUE(sizes.Equate(a, c));
  EXPECT_FALSE(sizes.Equate(b, c));
  sizes.Solve();
  EXPECT_EQ(sizes.Size(c), 3);
}

TEST(SizeSystem, BoundsDetermineOrFail) {
  SizeSystem sizes;
  int open = sizes.Add(RowRole::kParameter),
      two = sizes.Add(RowRole::kComputed);
  sizes.Set(two, 2, false);
  sizes.AtLeast(open, 3);
  sizes.AtLeast(two, 3);
  EXPECT_EQ(sizes.Solve().at_least, std::vector<int>{1});
  EXPECT_EQ(sizes.Size(open), 3);
}

// A concatenation of two parts into an axis of `whole` cells; sizes of 0 are
// not given.
struct TwoParts {
  TwoParts(int64_t whole_size, int64_t a_size, RowRole a_role) {
    if (whole_size > 0) sizes.Set(whole, whole_size, false);
    int axis = sizes.Add(a_role);
    if (a_size > 0) sizes.Set(axis, a_size, false);
    EXPECT_TRUE(sizes.Equate(a, axis));
    sizes.Relate(whole, {{a, 1}, {b, 1}}, 0);
  }

  SizeSystem sizes;
  int whole = sizes.Add(RowRole::kComputed);
  int a = sizes.AddName(), b = sizes.AddName();
};

TEST(SizeSystem, APartThatNoArrayHasIsWhatIsLeft) {
  for (auto [whole, a, b] : {std::array{5, 2, 3}, std::array{5, 5, 0}}) {
    TwoParts parts(whole, a, RowRole::kComputed);
    EXPECT_TRUE(parts.sizes.Solve().relations.empty());
    EXPECT_EQ(parts.sizes.Size(parts.b), b);
  }
  EXPECT_EQ(TwoParts(5, 6, RowRole::kComputed).sizes.Solve().relations.size(),
            1u);
}

TEST(SizeSystem, APartThatNothingDeterminesIsEmpty) {
  TwoParts reads(5, 0, RowRole::kComputed);
  EXPECT_TRUE(reads.sizes.Solve().relations.empty());
  EXPECT_EQ(reads.sizes.Size(reads.a), 5);
  TwoParts writes(0, 2, RowRole::kComputed);
  EXPECT_TRUE(writes.sizes.Solve().relations.empty());
  EXPECT_EQ(writes.sizes.Size(writes.whole), 2);
  TwoParts leaf(0, 0, RowRole::kLeaf);
  EXPECT_TRUE(leaf.sizes.Solve().relations.empty());
  EXPECT_EQ(leaf.sizes.Size(leaf.whole), 1);
  TwoParts parameter(0, 0, RowRole::kParameter);
  parameter.sizes.Solve();
  EXPECT_EQ(parameter.sizes.Size(parameter.a), 0);
}

TEST(SizeSystem, NothingTellsTwoPartsApart) {
  for (int64_t size : {2, 5}) {
    SizeSystem sizes;
    int whole = sizes.Add(RowRole::kComputed);
    sizes.Set(whole, size, false);
    sizes.Relate(whole, {{sizes.AddName(), 1}, {sizes.AddName(), 1}}, 0);
    EXPECT_EQ(sizes.Solve().relations.size(), 1u) << size;
  }
}

TEST(SizeSystem, ProductsGoBothWays) {
  for (auto [whole, a, b] : {std::array{12, 3, 4}, std::array{3, 3, 1}}) {
    for (int unknown = 0; unknown < 3; ++unknown) {
      SizeSystem sizes;
      const int known[] = {whole, a, b};
      for (int k = 0; k < 3; ++k) {
        sizes.Add(RowRole::kComputed);
        if (k != unknown) sizes.Set(k, known[k], false);
      }
      sizes.Multiply(0, {1, 2});
      EXPECT_TRUE(sizes.Solve().relations.empty());
      EXPECT_EQ(sizes.Size(unknown), known[unknown]);
    }
  }
}

TEST(SizeSystem, ProductsThatDoNotFit) {
  for (auto [whole, a, b] :
       {std::array{12, 5, 0}, std::array{12, 3, 5}, std::array{3, 6, 0}}) {
    SizeSystem sizes;
    const int known[] = {whole, a, b};
    for (int k = 0; k < 3; ++k) {
      sizes.Add(RowRole::kComputed);
      if (known[k] != 0) sizes.Set(k, known[k], false);
    }
    sizes.Multiply(0, {1, 2});
    EXPECT_EQ(sizes.Solve().relations.size(), 1u) << whole;
  }
}

TEST(SizeSystem, EndsOnCircles) {
  SizeSystem sizes;
  int a = sizes.Add(RowRole::kComputed), b = sizes.Add(RowRole::kComputed);
  sizes.Cover(a, b);
  sizes.Cover(b, a);
  EXPECT_TRUE(sizes.Solve().covers.empty());
  EXPECT_EQ(sizes.Size(a), 1);
}

}  // namespace
}  // namespace ocannl
