// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/projections.h"

#include <utility>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

const Affine i = Iterator({0});
const Affine j = Iterator({1});

TEST(ProjectionsTest, Surjective) {
  EXPECT_TRUE(IsSurjective({4, 3}, {i, j}, {4, 3}));
  EXPECT_TRUE(IsSurjective({4, 3}, {j}, {3}));
  EXPECT_TRUE(IsSurjective({4}, {i, 0}, {4, 1}));
  EXPECT_FALSE(IsSurjective({4}, {i, 0}, {4, 2}));
  EXPECT_FALSE(IsSurjective({4}, {i}, {5}));
  EXPECT_FALSE(IsSurjective({4}, {i, i}, {4, 4}));
  EXPECT_FALSE(IsSurjective({4}, {2 * i}, {7}));
  EXPECT_TRUE(IsSurjective({4, 2}, {2 * i + j}, {8}));
  EXPECT_FALSE(IsSurjective({4, 2}, {2 * i + j + 1}, {8}));
  EXPECT_FALSE(IsSurjective({4}, {Affine(Static(0))}, {4}));
}

TEST(ProjectionsTest, BijectiveMissesNoLoop) {
  EXPECT_TRUE(IsBijective({4, 3}, {j, i}, {3, 4}));
  EXPECT_FALSE(IsBijective({4, 3}, {j}, {3}));
  EXPECT_TRUE(IsBijective({1, 3}, {j}, {3}));
  EXPECT_TRUE(IsBijective({4, 3}, {3 * i + j}, {12}));
  EXPECT_TRUE(IsBijective({4, 3}, {i + 4 * j}, {12}));
  EXPECT_FALSE(IsBijective({4, 3}, {2 * i + j}, {9}));
  EXPECT_FALSE(IsBijective({4, 3}, {4 * i + j}, {15}));
  EXPECT_FALSE(IsBijective({4, 4}, {i + 4 * i}, {16}));
}

Projections Piece(LoopExtents extents, Indices lhs) {
  return {.extents = std::move(extents), .lhs = std::move(lhs), .operands = {}};
}

TEST(ProjectionsTest, TilesMeetWithoutOverlap) {
  EXPECT_TRUE(IsPartition({Piece({4, 3}, {j, i})}, {3, 4}));
  EXPECT_FALSE(IsPartition({Piece({4, 3}, {j})}, {3}));
  EXPECT_FALSE(IsPartition({Piece({4}, {2 * i})}, {4}));
  EXPECT_FALSE(IsPartition({Piece({4}, {i, i})}, {2, 2}));
  EXPECT_TRUE(IsPartition({Piece({2}, {i}), Piece({3}, {i + 2})}, {5}));
  EXPECT_FALSE(IsPartition({Piece({2}, {i}), Piece({3}, {i + 1})}, {5}));
  EXPECT_FALSE(IsPartition({Piece({2}, {i}), Piece({3}, {i + 3})}, {6}));
  EXPECT_FALSE(IsPartition({Piece({2}, {i}), Piece({3}, {i + 3})}, {5}));
  EXPECT_TRUE(IsPartition({Piece({2}, {i, 0}), Piece({2}, {i, 1})}, {2, 2}));
}

}  // namespace
}  // namespace ocannl
