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

INSTANTIATE_TEST_SUITE_P(Pictures, PicturesTest,
                         testing::Values(DrawnDigits, DrawnPatterns));

}  // namespace
}  // namespace ocannl
