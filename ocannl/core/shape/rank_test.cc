// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/shape/rank.h"

#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(RankSystem, AComputedRowHasWhatItCovers) {
  RankSystem ranks;
  int a = ranks.Add(RowRole::kComputed), b = ranks.Add(RowRole::kComputed);
  int sum = ranks.Add(RowRole::kComputed);
  ASSERT_TRUE(ranks.SetLength(a, 1));
  ASSERT_TRUE(ranks.SetLength(b, 2));
  ranks.Cover(sum, a, false);
  ranks.Cover(sum, b, false);
  EXPECT_TRUE(ranks.Solve().empty());
  EXPECT_EQ(ranks.Length(sum), 2);
}

TEST(RankSystem, EquationsAddUp) {
  RankSystem ranks;
  int a = ranks.Add(RowRole::kComputed), b = ranks.Add(RowRole::kComputed);
  int c = ranks.Add(RowRole::kComputed);
  EXPECT_TRUE(ranks.SetDifference(a, b, 1));
  EXPECT_TRUE(ranks.SetDifference(b, c, 2));
  EXPECT_TRUE(ranks.SetDifference(a, c, 3));
  EXPECT_FALSE(ranks.SetDifference(c, a, 3));
  EXPECT_TRUE(ranks.SetLength(b, 5));
  EXPECT_FALSE(ranks.SetLength(a, 5));
  EXPECT_TRUE(ranks.Solve().empty());
  EXPECT_EQ(ranks.Length(a), 6);
  EXPECT_EQ(ranks.Length(c), 3);
}

TEST(RankSystem, NoRowIsShorterThanEmpty) {
  RankSystem ranks;
  int a = ranks.Add(RowRole::kComputed), b = ranks.Add(RowRole::kComputed);
  ASSERT_TRUE(ranks.SetDifference(a, b, 2));
  EXPECT_TRUE(ranks.Solve().empty());
  EXPECT_EQ(ranks.Length(a), 2);
}

TEST(RankSystem, ALeafIsAsLongAsItsShortestUse) {
  RankSystem ranks;
  int leaf = ranks.Add(RowRole::kParameter),
      never = ranks.Add(RowRole::kParameter);
  for (int length : {3, 2}) {
    int use = ranks.Add(RowRole::kComputed),
        fixed = ranks.Add(RowRole::kComputed);
    ASSERT_TRUE(ranks.SetLength(fixed, length));
    ranks.Cover(use, leaf, false);
    ranks.Cover(use, fixed, false);
  }
  EXPECT_TRUE(ranks.Solve().empty());
  EXPECT_EQ(ranks.Length(leaf), 2);
  EXPECT_TRUE(ranks.IsDetermined(leaf));
  EXPECT_FALSE(ranks.IsDetermined(never));
}

TEST(RankSystem, ABroadcastableRowDoesNotDetermineWhatCoversIt) {
  RankSystem ranks;
  int number = ranks.Add(RowRole::kComputed), leaf = ranks.Add(RowRole::kLeaf);
  int sum = ranks.Add(RowRole::kComputed), use = ranks.Add(RowRole::kComputed);
  ASSERT_TRUE(ranks.SetLength(number, 1));
  ASSERT_TRUE(ranks.SetLength(use, 2));
  ranks.Cover(sum, number, true);
  ranks.Cover(sum, leaf, false);
  ranks.Cover(use, sum, false);
  EXPECT_TRUE(ranks.Solve().empty());
  EXPECT_EQ(ranks.Length(leaf), 2);
  EXPECT_EQ(ranks.Length(sum), 2);
}

TEST(RankSystem, NamesTheCoversThatCannotHold) {
  RankSystem ranks;
  int a = ranks.Add(RowRole::kComputed), b = ranks.Add(RowRole::kComputed);
  ASSERT_TRUE(ranks.SetLength(a, 1));
  ASSERT_TRUE(ranks.SetLength(b, 2));
  ranks.Cover(b, a, false);
  ranks.Cover(a, b, false);
  EXPECT_EQ(ranks.Solve(), std::vector<int>{1});
}

TEST(RankSystem, EndsOnCircles) {
  RankSystem ranks;
  int a = ranks.Add(RowRole::kComputed), b = ranks.Add(RowRole::kComputed);
  int longer = ranks.Add(RowRole::kComputed);
  ASSERT_TRUE(ranks.SetDifference(longer, b, 1));
  ranks.Cover(a, longer, false);
  ranks.Cover(b, a, false);
  EXPECT_EQ(ranks.Solve().size(), 1u);
}

TEST(RankSystem, APreferenceYieldsToEverything) {
  RankSystem ranks;
  int open = ranks.Add(RowRole::kParameter), used = ranks.Add(RowRole::kLeaf);
  int user = ranks.Add(RowRole::kComputed),
      three = ranks.Add(RowRole::kComputed);
  EXPECT_TRUE(ranks.SetLength(user, 2));
  EXPECT_TRUE(ranks.SetLength(three, 3));
  ranks.Cover(user, used, false);
  for (int row : {open, used, three}) ranks.Prefer(row, 1);
  EXPECT_TRUE(ranks.Solve().empty());
  EXPECT_EQ(ranks.Length(open), 1);
  EXPECT_TRUE(ranks.IsDetermined(open));
  EXPECT_EQ(ranks.Length(used), 2);
  EXPECT_EQ(ranks.Length(three), 3);
}

}  // namespace
}  // namespace ocannl
