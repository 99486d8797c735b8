// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/analysis/equation.h"

#include <cstdio>
#include <random>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(EquationTest, Cases) {
  EXPECT_TRUE(HasSolution({}, 0));
  EXPECT_FALSE(HasSolution({}, 3));
  EXPECT_TRUE(HasSolution({{2, 0, 9}}, -4));
  EXPECT_FALSE(HasSolution({{2, 0, 9}}, -3)) << "odd";
  EXPECT_FALSE(HasSolution({{2, 0, 9}}, -20)) << "beyond the greatest";
  EXPECT_FALSE(HasSolution({{2, 1, 0}}, 0)) << "x has no value";
  EXPECT_TRUE(HasSolution({{1, -3, -3}}, 3)) << "x has one value";
}

TEST(EquationTest, Digits) {
  // Cells of rows of 16 in different rows are different.
  EXPECT_FALSE(HasSolution({{16, 1, 9}, {1, 0, 15}, {-1, 0, 15}}, 0));
  // Rows of 16 that overlap by one are not.
  EXPECT_TRUE(HasSolution({{16, 1, 9}, {1, 0, 16}, {-1, 0, 15}}, -32));
  // Three digits: 160 = 10 rows of 16.
  EXPECT_FALSE(HasSolution(
      {{160, -3, 3}, {16, 1, 9}, {-16, 0, 0}, {1, 0, 15}, {-1, 0, 15}}, 0));
}

bool IsZeroSomewhere(const std::vector<BoundedTerm>& terms, size_t k,
                     int64_t sum) {
  if (k == terms.size()) return sum == 0;
  for (int64_t x = terms[k].least; x <= terms[k].greatest; ++x) {
    if (IsZeroSomewhere(terms, k + 1, sum + terms[k].factor * x)) return true;
  }
  return false;
}

TEST(EquationTest, NeverDeniesASolution) {
  std::mt19937 random(1);
  auto between = [&](int64_t least, int64_t greatest) {
    return least + static_cast<int64_t>(random() % (greatest - least + 1));
  };
  int insoluble = 0;
  int proved = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<BoundedTerm> terms(between(1, 4));
    for (auto& [factor, least, greatest] : terms) {
      factor = between(-12, 12);
      least = between(-2, 2);
      greatest = least + between(0, 5);
    }
    const int64_t constant = between(-30, 30);
    const bool expected = IsZeroSomewhere(terms, 0, constant);
    const bool actual = HasSolution(terms, constant);
    ASSERT_TRUE(actual || !expected) << "trial " << trial;
    insoluble += expected ? 0 : 1;
    proved += actual ? 0 : 1;
  }
  std::printf("%d of %d insoluble equations proved so\n", proved, insoluble);
  EXPECT_GT(proved, insoluble * 3 / 4);
}

}  // namespace
}  // namespace ocannl
