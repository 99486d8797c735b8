// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/injective.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

const Affine kI = Iterator(IteratorId{0});
const Affine kJ = Iterator(IteratorId{1});

// Of loops of 5 and 3 values.
Projections Piece(Indices lhs) {
  Projections piece;
  piece.extents.Add(5);
  piece.extents.Add(3);
  piece.lhs = std::move(lhs);
  return piece;
}

bool Once(Indices lhs) { return IsInjective({Piece(std::move(lhs))}); }

TEST(InjectiveTest, CellsAreReachedOnce) {
  EXPECT_TRUE(Once({kI, kJ}));
  EXPECT_TRUE(Once({2 * kI + 1, 7 * kJ, 4}));
  EXPECT_TRUE(Once({3 * kI + kJ}));
  EXPECT_TRUE(Once({kI + 5 * kJ}));
  EXPECT_FALSE(Once({2 * kI + kJ}));
  EXPECT_FALSE(Once({kI}));
  EXPECT_FALSE(Once({kI, kI + kJ}));
  EXPECT_FALSE(Once({-1 * kI, kJ}));
  EXPECT_FALSE(Once({kI, kJ + Static(0)}));
}

TEST(InjectiveTest, PiecesAreApart) {
  EXPECT_TRUE(IsInjective({Piece({kI, kJ}), Piece({kI, kJ + 3})}));
  EXPECT_FALSE(IsInjective({Piece({kI, kJ}), Piece({kI, kJ + 2})}));
}

}  // namespace
}  // namespace ocannl
