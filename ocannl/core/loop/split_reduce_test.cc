// SPDX-License-Identifier: Apache-2.0
//
// Which nests get which lanes; tests/schedule/split_reduce_test.cc has the
// values.
#include "ocannl/core/loop/split_reduce.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"

namespace ocannl {
namespace {

// "rows of loop, inner loops", or "none".
std::string LanesOf(const std::vector<int64_t>& extents, const Strides& target,
                    const std::vector<Strides>& loads) {
  std::optional<LaneSplit> lanes = FindLanes(extents, target, loads);
  if (!lanes) return "none";
  std::string text =
      lanes->chunked ? absl::StrCat(lanes->rows, " of ", *lanes->chunked) : "1";
  return absl::StrCat(text, ", {", absl::StrJoin(lanes->inner, " "), "}");
}

TEST(FindLanesTest, OneContiguousLoop) {
  // y[] =+ x[k]
  EXPECT_EQ(LanesOf({31}, {0}, {{1}}), "none");
  EXPECT_EQ(LanesOf({32}, {0}, {{1}}), "1, {0}");
  EXPECT_EQ(LanesOf({64}, {0}, {{1}}), "1, {0}");
  EXPECT_EQ(LanesOf({65}, {0}, {{1}}), "64 of 0, {}");
  EXPECT_EQ(LanesOf({64}, {0}, {{2}}), "none");
  EXPECT_EQ(LanesOf({64}, {0}, {{-1}}), "none");
  EXPECT_EQ(LanesOf({64}, {0}, {{1}, {2}}), "none");
  EXPECT_EQ(LanesOf({64}, {0}, {{1}, {0}}), "1, {0}");
  EXPECT_EQ(LanesOf({64}, {0}, {{0}}), "none");
  EXPECT_EQ(LanesOf({64}, {0}, {}), "none");
}

TEST(FindLanesTest, ARunOfSeveralLoops) {
  // y[] =+ x[i, k]
  EXPECT_EQ(LanesOf({80, 10}, {0, 0}, {{10, 1}}), "6 of 0, {1}");
  EXPECT_EQ(LanesOf({4, 10}, {0, 0}, {{10, 1}}), "1, {0 1}");
  EXPECT_EQ(LanesOf({3, 10}, {0, 0}, {{10, 1}}), "none");
  EXPECT_EQ(LanesOf({3, 100}, {0, 0}, {{100, 1}}), "64 of 1, {}");
  EXPECT_EQ(LanesOf({7, 33}, {0, 0}, {{33, 1}}), "1, {1}");
  EXPECT_EQ(LanesOf({9, 2, 10}, {0, 0, 0}, {{20, 10, 1}}), "3 of 0, {1 2}");
  // There is a gap between the rows, or one load stays within them.
  EXPECT_EQ(LanesOf({80, 10}, {0, 0}, {{12, 1}}), "none");
  EXPECT_EQ(LanesOf({80, 40}, {0, 0}, {{42, 1}}), "1, {1}");
  EXPECT_EQ(LanesOf({80, 10}, {0, 0}, {{10, 1}, {0, 1}}), "none");
  EXPECT_EQ(LanesOf({80, 10}, {0, 0}, {{10, 1}, {1, 0}}), "none");
  EXPECT_EQ(LanesOf({80, 40}, {0, 0}, {{40, 1}, {1, 0}}), "1, {1}");
  // Loops of one iteration are no loops.
  EXPECT_EQ(LanesOf({40, 1}, {0, 0}, {{1, 7}}), "1, {0}");
}

TEST(FindLanesTest, TheTargetsLoops) {
  // y[b] =+ x[b, k] * w[k]
  EXPECT_EQ(LanesOf({8, 50}, {1, 0}, {{50, 1}, {0, 1}}), "1, {1}");
  // y[b, o] =+ w[b, o, k] * x[b, k]
  EXPECT_EQ(LanesOf({2, 3, 50}, {3, 1, 0}, {{150, 50, 1}, {50, 0, 1}}),
            "1, {2}");
  // Along the target instead: y[j] =+ x[k, j], y[j] =+ x[j + k] * w[k].
  EXPECT_EQ(LanesOf({8, 50}, {1, 0}, {{1, 8}}), "none");
  EXPECT_EQ(LanesOf({8, 50}, {1, 0}, {{1, 1}, {0, 1}}), "none");
  EXPECT_EQ(LanesOf({8, 50}, {1, 0}, {{50, 1}, {1, 0}}), "1, {1}");
}

TEST(FindLanesTest, ContractionsKeepTheirOrder) {
  // y[b, o] =+ w[o, k] * x[b, k]
  EXPECT_EQ(LanesOf({4, 5, 50}, {5, 1, 0}, {{0, 50, 1}, {50, 0, 1}}), "none");
  // One row: y[o] =+ w[o, k] * x[k]
  EXPECT_EQ(LanesOf({1, 5, 50}, {5, 1, 0}, {{0, 50, 1}, {50, 0, 1}}), "1, {2}");
  // The bias depends on no reduced loop: y[b, o] =+ x[b, k] + c[o]
  EXPECT_EQ(LanesOf({4, 5, 50}, {5, 1, 0}, {{50, 0, 1}, {0, 1, 0}}), "1, {2}");
}

TEST(FindLanesTest, StridesAreOfCellsInMemoryOrder) {
  Affine i = Iterator({0}), k = Iterator({2});
  EXPECT_EQ(StridesOf({2 * i, k + 1, Static(0)}, {8, 5, 3}, 3),
            (Strides{30, 0, 3}));
}

}  // namespace
}  // namespace ocannl
