// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/reshape.h"

#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

const Affine i = Iterator({0});
const Affine j = Iterator({1});
const Affine k = Iterator({2});

TEST(ReshapeTest, OneNestWhereAxesAreCutOrMerged) {
  std::vector<Projections> nests = Reshaping({6, 4}, {3, 8});
  ASSERT_EQ(nests.size(), 1);
  EXPECT_EQ(nests[0], (Projections{.extents = {3, 2, 4},
                                   .lhs = {i, 4 * j + k},
                                   .operands = {{2 * i + j, k}}}));
  EXPECT_EQ(Reshaping({1, 5, 1}, {5})[0],
            (Projections{.extents = {5}, .lhs = {i}, .operands = {{0, i, 0}}}));
  EXPECT_EQ(Reshaping({}, {1, 1})[0].extents.size(), 0);
}

// The cell of an array of `dims` at `indices`.
int64_t CellOf(const std::vector<int64_t>& dims, const Indices& indices,
               const std::vector<int64_t>& point) {
  int64_t cell = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    int64_t index = indices[axis].offset();
    for (const Affine::Term& term : indices[axis].terms()) {
      index += term.factor * point[term.symbol.number];
    }
    EXPECT_TRUE(index >= 0 && index < dims[axis]);
    cell = cell * dims[axis] + index;
  }
  return cell;
}

// Every cell of the result is the cell of the operand of the same number.
void Check(const std::vector<int64_t>& from, const std::vector<int64_t>& to) {
  std::vector<int64_t> dims = from;
  std::vector<Projections> nests = Reshaping(from, to);
  int64_t cells = 1;
  for (int64_t size : from) cells *= size;
  for (const Projections& nest : nests) {
    const bool is_last = &nest == &nests.back();
    std::vector<int64_t> next = is_last ? to : std::vector<int64_t>{cells};
    EXPECT_TRUE(IsBijective(nest.extents, nest.lhs, next));
    std::vector<int64_t> point(nest.extents.size(), 0);
    for (int64_t n = 0; n < cells; ++n) {
      int64_t rest = n;
      for (int32_t loop = nest.extents.next_id().index; loop-- > 0;) {
        point[loop] = rest % nest.extents[{loop}];
        rest /= nest.extents[{loop}];
      }
      EXPECT_EQ(CellOf(dims, nest.operands[0], point), n);
      EXPECT_EQ(CellOf(next, nest.lhs, point), n);
    }
    dims = next;
  }
}

TEST(ReshapeTest, KeepsTheOrderOfCells) {
  Check({2, 3}, {3, 2});
  Check({4, 6}, {3, 8});
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> from, to(random() % 3 + 1, 1);
    for (uint64_t n = random() % 4; n > 0; --n) {
      from.push_back(random() % 6 + 1);
      // Its prime factors go anywhere.
      int64_t rest = from.back();
      for (int64_t factor : {2, 2, 3, 5}) {
        if (rest % factor != 0) continue;
        rest /= factor;
        to[random() % to.size()] *= factor;
      }
    }
    Check(from, to);
  }
}

}  // namespace
}  // namespace ocannl
