// SPDX-License-Identifier: Apache-2.0
#include "experiments/nets/digit_pairs.h"

#include <map>
#include <vector>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

// Images of 2 x 2 cells that hold first + k, of the class k % 3.
Examples Digits(int64_t count, float first) {
  Examples digits{.inputs = NdArray(DType::kF32, {count, 2, 2, 1}),
                  .classes = NdArray(DType::kI32, {count})};
  for (int64_t k = 0; k < count; ++k) {
    for (int64_t cell = 0; cell < 4; ++cell) {
      digits.inputs.values<float>()[4 * k + cell] =
          first + static_cast<float>(k);
    }
    digits.classes.values<int32_t>()[k] = static_cast<int32_t>(k % 3);
  }
  return digits;
}

const Lessons kDigits = {
    .train = Digits(7, 0), .test = Digits(4, 100), .classes = 3};

TEST(PairsOfTest, ClassesAreSums) {
  const Lessons pairs = PairsOf(kDigits, 14, 5, 1);
  EXPECT_EQ(pairs.classes, 5);
  EXPECT_EQ(pairs.train.inputs.dims(), (Dims{14, 2, 2, 2, 1}));
  EXPECT_EQ(pairs.test.inputs.dims(), (Dims{5, 2, 2, 2, 1}));
  std::map<int, int> times;  // that an image is the first of a pair
  for (int64_t k = 0; k < 14; ++k) {
    const auto cells = pairs.train.inputs.values<float>().subspan(8 * k, 8);
    const int first = static_cast<int>(cells[0]);
    const int second = static_cast<int>(cells[4]);
    EXPECT_EQ(cells[3], cells[0]);
    EXPECT_EQ(cells[7], cells[4]);
    EXPECT_EQ(pairs.train.classes.values<int32_t>()[k], first % 3 + second % 3);
    ++times[first];
  }
  for (int image = 0; image < 7; ++image) EXPECT_EQ(times[image], 2) << image;
  for (float cell : pairs.test.inputs.values<float>()) EXPECT_GE(cell, 100);
}

TEST(PairsOfTest, TheSeedSaysAll) {
  const Lessons one = PairsOf(kDigits, 20, 5, 1);
  EXPECT_TRUE(
      SameBits(one.train.inputs, PairsOf(kDigits, 20, 5, 1).train.inputs));
  EXPECT_FALSE(
      SameBits(one.train.inputs, PairsOf(kDigits, 20, 5, 2).train.inputs));
}

}  // namespace
}  // namespace ocannl
