// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/pictures.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

using DrawLessons = Lessons (*)(int64_t, int64_t, uint32_t);

class PicturesTest : public testing::TestWithParam<DrawLessons> {};

TEST_P(PicturesTest, AllClassesFromZeroToOne) {
  const Lessons lessons = GetParam()(300, 20, 1);
  std::vector<int> counts(10);
  for (int32_t kind : lessons.train.classes.values<int32_t>())
    ++counts.at(kind);
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 10);
  float least = 1, most = 0;
  for (float cell : lessons.train.inputs.values<float>()) {
    least = std::min(least, cell);
    most = std::max(most, cell);
  }
  EXPECT_EQ(least, 0);
  EXPECT_EQ(most, 1);
}

TEST_P(PicturesTest, TheSeedSaysAll) {
  const Lessons one = GetParam()(20, 10, 1), again = GetParam()(20, 10, 1);
  const Lessons other = GetParam()(20, 10, 2);
  EXPECT_TRUE(SameBits(one.train.inputs, again.train.inputs));
  EXPECT_TRUE(SameBits(one.test.inputs, again.test.inputs));
  EXPECT_FALSE(SameBits(one.train.inputs, other.train.inputs));
  EXPECT_EQ(one.train.inputs.dims()[0], 20);
  EXPECT_EQ(one.test.classes.dims(), Dims{10});
}

// The regions of cells above a half that touch each other, of 32 x 32.
int64_t Regions(absl::Span<const float> image) {
  std::vector<bool> seen(image.size());
  int64_t regions = 0;
  for (size_t k = 0; k < image.size(); ++k) {
    if (seen[k] || image[k] < 0.5) continue;
    ++regions;
    std::vector<size_t> open = {k};
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (at >= image.size() || seen[at] || image[at] < 0.5) continue;
      seen[at] = true;
      if (at % 32 > 0) open.push_back(at - 1);
      if (at % 32 < 31) open.push_back(at + 1);
      open.push_back(at - 32);  // above the first row: past the end
      open.push_back(at + 32);
    }
  }
  return regions;
}

TEST(CirclesTest, TheClassIsTheirNumber) {
  const Lessons lessons = DrawnCircles(200, 10, 3);
  EXPECT_EQ(lessons.classes, kMostCircles);
  std::vector<int> counts(kMostCircles);
  for (int64_t k = 0; k < 200; ++k) {
    const int64_t kind = lessons.train.classes.values<int32_t>()[k];
    ++counts.at(kind);
    EXPECT_EQ(Regions(lessons.train.inputs.values<float>().subspan(k * 32 * 32,
                                                                   32 * 32)),
              kind + 1);
  }
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 20);
}

TEST(CirclesTest, TheSeedSaysAll) {
  const Lessons one = DrawnCircles(20, 10, 1);
  EXPECT_TRUE(SameBits(one.train.inputs, DrawnCircles(20, 10, 1).train.inputs));
  EXPECT_FALSE(
      SameBits(one.train.inputs, DrawnCircles(20, 10, 2).train.inputs));
}

INSTANTIATE_TEST_SUITE_P(Pictures, PicturesTest,
                         testing::Values(DrawnDigits, DrawnPatterns));

}  // namespace
}  // namespace ocannl
