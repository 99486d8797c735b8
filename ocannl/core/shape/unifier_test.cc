// SPDX-License-Identifier: Apache-2.0
//
// Unifier against numbers that are drawn before: it finds out their differences
// within a class, and nothing else.
#include "ocannl/core/shape/unifier.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

constexpr int kSeed = 20261126;

struct Members {
  std::vector<int> all;
  int least = 0;  // of their values, minus that of the root
};

TEST(UnifierTest, KnowsDifferencesWithinClasses) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    const int count = 1 + static_cast<int>(random() % 40);
    std::vector<int> values, classes;  // what is true
    Unifier<Members> unifier;
    for (int k = 0; k < count; ++k) {
      values.push_back(static_cast<int>(random() % 1000));
      classes.push_back(unifier.Add());
      unifier[k].all = {k};
    }
    auto merge = [](Members& to, const Members& from, int shift) {
      to.all.insert(to.all.end(), from.all.begin(), from.all.end());
      to.least = std::min(to.least, from.least + shift);
      return true;
    };
    for (int step = 0; step < count; ++step) {
      const int a = static_cast<int>(random() % count);
      const int b = static_cast<int>(random() % count);
      const bool same = classes[a] == classes[b];
      const int difference = values[a] - values[b];
      EXPECT_TRUE(unifier.Unify(a, b, difference, merge));
      // In one class now, which nothing else fits.
      EXPECT_FALSE(unifier.Unify(a, b, difference + 1, merge));
      if (same) continue;
      const int old = classes[a];
      for (int& of : classes) of = of == old ? classes[b] : of;
    }
    int members = 0;
    for (int root : unifier.Roots()) {
      EXPECT_EQ(unifier.Find(root), root);
      EXPECT_EQ(unifier.OffsetOf(root), 0);
      int least = 0;
      for (int k : unifier[root].all) {
        EXPECT_EQ(classes[k], classes[root]) << "seed " << kSeed;
        EXPECT_EQ(unifier.Find(k), root);
        EXPECT_EQ(unifier.OffsetOf(k), values[k] - values[root]);
        least = std::min(least, values[k] - values[root]);
        ++members;
      }
      EXPECT_EQ(unifier[root].least, least);
    }
    EXPECT_EQ(members, count);
  }
}

TEST(UnifierTest, NothingIsDoneWhereClassesDoNotFit) {
  Unifier<int> unifier;
  const int a = unifier.Add(), b = unifier.Add();
  unifier[a] = 1;
  unifier[b] = 2;
  auto merge = [](int to, int from, int shift) { return from == to + shift; };
  EXPECT_FALSE(unifier.Unify(a, b, 0, merge));
  EXPECT_NE(unifier.Find(a), unifier.Find(b));
  EXPECT_TRUE(unifier.Unify(b, a, 1, merge));
  EXPECT_EQ(unifier.OffsetOf(b) - unifier.OffsetOf(a), 1);
}

}  // namespace
}  // namespace ocannl
