// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/containers/id.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

using LetterId = Id<struct LetterTag>;
using WordId = Id<struct WordTag>;
using Letters = IdVector<LetterId, char>;

template <class Index>
concept IndexesLetters = requires(Letters letters, Index index) {
  letters[index];
};

TEST(IdTest, IsNoneUntilItIsSet) {
  LetterId next;
  EXPECT_FALSE(next.valid());
  next = {0};
  EXPECT_EQ(next++, LetterId{0});
  EXPECT_EQ(next, LetterId{1});
  EXPECT_LT(LetterId(), LetterId{0});
}

TEST(IdVectorTest, HasAnIdForEachValue) {
  Letters letters = {'a', 'b'};
  EXPECT_EQ(letters.next_id(), LetterId{2});
  EXPECT_EQ(letters.Add('c'), LetterId{2});
  letters[{1}] = 'x';
  std::string all;
  for (LetterId id : letters.ids()) all += letters[id];
  EXPECT_EQ(all, "axc");
  for (LetterId id : Letters().ids()) FAIL() << id.index;
}

TEST(IdVectorTest, HoldsBools) {
  IdVector<LetterId, bool> used(3, false);
  used[{1}] = true;
  EXPECT_EQ(used, (std::vector<bool>{false, true, false}));
}

TEST(IdVectorTest, IsIndexedByItsOwnIdsOnly) {
  EXPECT_TRUE(IndexesLetters<LetterId>);
  EXPECT_FALSE(IndexesLetters<WordId>);
  EXPECT_FALSE(IndexesLetters<int>);
}

TEST(IdMapTest, HasWhatItWasGiven) {
  IdMap<LetterId, char> letters;
  EXPECT_TRUE(letters.empty());
  EXPECT_TRUE(letters.find({0}) == letters.end());
  letters[{3}] = 'd';
  letters[{1}] = 'b';
  EXPECT_TRUE(letters.contains({3}));
  EXPECT_FALSE(letters.contains({2}));
  EXPECT_FALSE(letters.contains({4}));
  EXPECT_FALSE(letters.contains({}));
  EXPECT_EQ(letters.find({3})->second, 'd');
  std::string all;
  for (const auto& [id, letter] : letters) all += letter;
  EXPECT_EQ(all, "bd");
  letters.erase({1});
  EXPECT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters.at({3}), 'd');
  EXPECT_DEATH(letters.at({1}), "");
}

}  // namespace
}  // namespace ocannl
