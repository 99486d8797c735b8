// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/index/affine.h"

#include "gtest/gtest.h"

namespace ocannl {
namespace {

TEST(AffineTest, SumsMergeAndCancelTerms) {
  Affine a = 2 * Affine(Iterator({3})) + Affine(Iterator({1})) + Affine(5);
  EXPECT_EQ(a.offset(), 5);
  EXPECT_EQ(a.FactorOf(Iterator({3})), 2);
  EXPECT_EQ(a.FactorOf(Iterator({1})), 1);
  EXPECT_EQ(a.FactorOf(Iterator({2})), 0);
  a += -2 * Affine(Iterator({3}));
  EXPECT_EQ(a, Affine(Iterator({1})) + Affine(5));
  EXPECT_TRUE((0 * a).is_constant());
}

TEST(AffineTest, OrderOfTermsDoesNotMatter) {
  EXPECT_EQ(Affine(Iterator({1})) + Affine(Static(1)),
            Affine(Static(1)) + Affine(Iterator({1})));
  EXPECT_FALSE(Affine(Iterator({1})) == Affine(Static(1)));
}

TEST(AffineTest, SubstituteIsLinear) {
  Affine a = 3 * Affine(Iterator({0})) + Affine(1);
  Affine b = a.Substitute(
      [](Symbol) { return 2 * Affine(Iterator({7})) + Affine(-1); });
  EXPECT_EQ(b, 6 * Affine(Iterator({7})) + Affine(-2));
}

}  // namespace
}  // namespace ocannl
