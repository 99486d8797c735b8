// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/parallel/replicas.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ocannl::train {
namespace {

std::string Text(int n) {
  std::string text;
  for (const auto& [from, to] : ParallelMerge(n)) {
    absl::StrAppend(&text, from, "->", to, " ");
  }
  return text;
}

TEST(ParallelMerge, Order) {
  EXPECT_EQ(Text(0), "");
  EXPECT_EQ(Text(1), "");
  EXPECT_EQ(Text(2), "1->0 ");
  EXPECT_EQ(Text(5), "3->1 4->2 2->1 1->0 ");
  EXPECT_EQ(Text(8), "4->0 5->1 6->2 7->3 2->0 3->1 1->0 ");
}

TEST(ParallelMerge, AllComeToTheFirstOneInFewRounds) {
  for (int n = 1; n <= 100; ++n) {
    std::vector<std::set<int>> parts(n);
    std::vector<int> rounds(n);  // that the part waited for
    for (int k = 0; k < n; ++k) parts[k] = {k};
    for (const auto& [from, to] : ParallelMerge(n)) {
      EXPECT_FALSE(parts[from].empty() || parts[to].empty());
      parts[to].merge(parts[from]);
      EXPECT_TRUE(parts[from].empty());  // else some part would count twice
      rounds[to] = std::max(rounds[from], rounds[to]) + 1;
    }
    EXPECT_EQ(parts[0].size(), n);
    EXPECT_LT(1 << rounds[0], 2 * n) << n;
  }
}

}  // namespace
}  // namespace ocannl::train
