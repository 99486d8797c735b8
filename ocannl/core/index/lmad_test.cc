// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/lmad.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

constexpr int64_t kRange = 3;  // of the symbol that a set may depend on
const Symbol kLive = Iterator({100});

int64_t NoSymbol(Symbol) { return 1; }

// factor * symbol, where the symbol has `extent` values.
struct Term {
  int64_t factor;
  int64_t extent;
};

struct Places {
  Lmad lmad = Lmad(0);
  std::set<int64_t> set;  // where kLive is 0
};

Places Make(const Affine& first, const std::vector<Term>& terms) {
  Affine index = first;
  std::set<int64_t> set = {first.offset()};
  for (size_t k = 0; k < terms.size(); ++k) {
    index.AddScaled(terms[k].factor, Iterator({static_cast<int32_t>(k)}));
    std::set<int64_t> more;
    for (int64_t place : set) {
      for (int64_t x = 0; x < terms[k].extent; ++x) {
        more.insert(place + terms[k].factor * x);
      }
    }
    set = more;
  }
  Lmad lmad(index);
  for (size_t k = 0; k < terms.size(); ++k) {
    lmad.Project(Iterator({static_cast<int32_t>(k)}), terms[k].extent);
  }
  return {lmad, set};
}

bool IsSubset(const std::set<int64_t>& of, const std::set<int64_t>& part) {
  return std::includes(of.begin(), of.end(), part.begin(), part.end());
}

TEST(LmadTest, StridesWithoutGapsAreOne) {
  EXPECT_EQ(Make(0, {{20, 34}, {1, 20}}).lmad, Lmad(0, 680));
  EXPECT_EQ(Make(5, {{1, 16}, {20, 1}}).lmad, Lmad(5, 16));
  EXPECT_EQ(Make(99, {{-1, 10}, {-10, 10}}).lmad, Lmad(0, 100));
  EXPECT_EQ(Make(0, {{2, 3}, {1, 2}}).lmad, Lmad(0, 6));
  EXPECT_EQ(Make(0, {{160, 4}, {20, 8}, {1, 16}}).lmad,
            Make(0, {{20, 32}, {1, 16}}).lmad);
  EXPECT_FALSE(Make(0, {{20, 34}, {1, 16}}).lmad == Lmad(0, 680));
}

TEST(LmadTest, TilesOfAFlatArrayAreAllOfIt) {
  Lmad all = Make(0, {{20, 32}, {1, 16}}).lmad;
  EXPECT_TRUE(all.Join(Make(16, {{20, 32}, {1, 4}}).lmad));
  EXPECT_EQ(all, Lmad(0, 640));
  Lmad rest = Make(640, {{20, 2}, {1, 16}}).lmad;
  EXPECT_TRUE(rest.Join(Make(656, {{20, 2}, {1, 4}}).lmad));
  EXPECT_TRUE(all.Join(rest));
  EXPECT_EQ(all, Lmad(0, 680));
}

TEST(LmadTest, GapsAreNoPlaces) {
  const Lmad even = Make(0, {{2, 3}}).lmad;
  EXPECT_TRUE(even.Contains(Lmad(4), NoSymbol));
  EXPECT_FALSE(even.Contains(Lmad(3), NoSymbol));
  EXPECT_FALSE(even.Contains(Lmad(6), NoSymbol));
  EXPECT_FALSE(even.Contains(Lmad(2, 2), NoSymbol));
  Lmad odd = Make(1, {{2, 2}}).lmad;
  EXPECT_FALSE(odd.Join(even));
}

TEST(LmadTest, PlacesThatDependOnASymbol) {
  auto range = [](Symbol) { return kRange; };
  Affine row;
  row.AddScaled(20, kLive);
  EXPECT_TRUE(Lmad(row, 16).Contains(Lmad(row + 3), range));
  EXPECT_TRUE(Lmad(row, 16).Holds(Lmad(row + 3)));
  EXPECT_TRUE(Lmad(0, 56).Contains(Lmad(row, 16), range));
  EXPECT_FALSE(Lmad(0, 56).Holds(Lmad(row, 16)));
  EXPECT_FALSE(Lmad(0, 55).Contains(Lmad(row, 16), range));
  const Lmad rows = Make(0, {{20, kRange}, {1, 16}}).lmad;
  EXPECT_TRUE(rows.Contains(Lmad(row + 3, 2), range));
  EXPECT_FALSE(rows.Contains(Lmad(row + 3, 14), range));
  Lmad two = Lmad(row, 16);
  EXPECT_FALSE(two.Join(Lmad(16)));
  EXPECT_TRUE(two.Join(Lmad(row + 16, 4)));
  EXPECT_EQ(two, Lmad(row, 20));
}

// What is said of random sets is so.
TEST(LmadTest, RandomSets) {
  std::mt19937 random(1);
  auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  auto make = [&] {
    const int64_t first = below(8);
    std::vector<Term> terms(below(4));
    for (Term& term : terms) {
      term.factor = below(8) + 1;
      if (below(4) == 0) term.factor = -term.factor;
      term.extent = below(4) + 1;
    }
    return Make(first, terms);
  };
  int contains = 0;
  int subsets = 0;
  int joins = 0;
  int places = 0;
  int found = 0;
  for (int k = 0; k < 50'000; ++k) {
    const Places a = make();
    const Places b = make();
    const bool said = a.lmad.Contains(b.lmad, NoSymbol);
    ASSERT_EQ(said, a.lmad.Holds(b.lmad));
    ASSERT_TRUE(!said || IsSubset(a.set, b.set));
    contains += said;
    subsets += IsSubset(a.set, b.set);
    ASSERT_TRUE(a.lmad.Contains(a.lmad, NoSymbol));
    ASSERT_EQ(a.lmad.first(), Affine(*a.set.begin()));
    Lmad all = a.lmad;
    if (!all.Join(b.lmad)) {
      ASSERT_EQ(all, a.lmad);
      continue;
    }
    ++joins;
    for (int64_t place = -100; place < 100; ++place) {
      const bool is_in = a.set.contains(place) || b.set.contains(place);
      places += is_in;
      found += all.Contains(Lmad(place), NoSymbol);
      ASSERT_TRUE(is_in || !all.Contains(Lmad(place), NoSymbol)) << place;
    }
  }
  EXPECT_GT(contains, subsets * 8 / 10);
  EXPECT_GT(joins, 1000);
  EXPECT_GT(found, places * 99 / 100);
}

// Cuts of a box in several axes, each with strides of a flat array, joined in a
// random order, are all of it.
TEST(LmadTest, RandomTiles) {
  std::mt19937 random(2);
  auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  for (int k = 0; k < 2'000; ++k) {
    const int64_t rows = below(9) + 2;
    const int64_t columns = below(9) + 2;
    const int64_t row = below(rows - 1) + 1;
    const int64_t column = below(columns - 1) + 1;
    std::vector<Lmad> tiles;
    for (bool down : {false, true}) {
      for (bool right : {false, true}) {
        tiles.push_back(Make((down ? row * columns : 0) + (right ? column : 0),
                             {{columns, down ? rows - row : row},
                              {1, right ? columns - column : column}})
                            .lmad);
      }
    }
    std::shuffle(tiles.begin(), tiles.end(), random);
    for (size_t j = 0; j < tiles.size();) {
      const Lmad tile = tiles[j];
      tiles.erase(tiles.begin() + static_cast<int64_t>(j));
      const bool joined =
          std::any_of(tiles.begin(), tiles.end(),
                      [&](Lmad& other) { return other.Join(tile); });
      if (!joined) tiles.insert(tiles.begin() + static_cast<int64_t>(j), tile);
      j = joined ? 0 : j + 1;
    }
    ASSERT_EQ(tiles.size(), 1u) << rows << "x" << columns;
    ASSERT_EQ(tiles[0], Lmad(0, rows * columns));
  }
}

}  // namespace
}  // namespace ocannl
