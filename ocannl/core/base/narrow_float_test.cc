// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/base/narrow_float.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

template <class T>
T OfBits(int bits) {
  return T{static_cast<typename T::Bits>(bits)};
}

template <class T>
class NarrowFloatTest : public testing::Test {};

using Types = testing::Types<F16, BF16, F8E5M2, F8E4M3>;
TYPED_TEST_SUITE(NarrowFloatTest, Types);

TYPED_TEST(NarrowFloatTest, EveryNumberIsItsOwnNearest) {
  using T = TypeParam;
  for (int bits = 0; bits <= std::numeric_limits<typename T::Bits>::max();
       ++bits) {
    const auto wide = static_cast<double>(OfBits<T>(bits));
    const T back = T::Round(wide);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(back))) << bits;
    } else {
      EXPECT_EQ(back.bits, bits);
    }
  }
}

// A sign, an exponent and a fraction, as IEEE 754 reads them.
template <class T>
void CheckFields(int fraction_bits, int bias) {
  for (int bits = 0; bits < T::kBeyond; ++bits) {
    const int exponent = bits >> fraction_bits;
    const double fraction =
        std::ldexp(bits % (1 << fraction_bits), -fraction_bits);
    const double number = exponent == 0
                              ? std::ldexp(fraction, 1 - bias)
                              : std::ldexp(1 + fraction, exponent - bias);
    EXPECT_EQ(static_cast<double>(OfBits<T>(bits)), number) << bits;
    EXPECT_EQ(static_cast<double>(OfBits<T>(bits | T::kSign)), -number) << bits;
  }
}

TEST(NarrowFloat, EveryNumberIsWhatItsFieldsSay) {
  CheckFields<F16>(10, 15);
  CheckFields<BF16>(7, 127);
  CheckFields<F8E5M2>(2, 15);
  CheckFields<F8E4M3>(3, 7);
}

// Numbers grow with their bits: between two neighbours the nearer one wins, in
// the middle the even one.
TYPED_TEST(NarrowFloatTest, RoundsToTheNearestOfNeighbours) {
  using T = TypeParam;
  for (int bits = 0; bits + 1 < T::kBeyond; ++bits) {
    const auto low = static_cast<double>(OfBits<T>(bits));
    const auto high = static_cast<double>(OfBits<T>(bits + 1));
    ASSERT_LT(low, high) << bits;
    const double middle = (low + high) / 2;
    const int even = bits + bits % 2;
    for (int sign : {1, -1}) {
      auto rounded = [&](double x) {
        return T::Round(sign * x).bits - (sign < 0 ? T::kSign : 0);
      };
      EXPECT_EQ(rounded(middle), even) << middle;
      EXPECT_EQ(rounded(std::nextafter(middle, low)), bits) << middle;
      EXPECT_EQ(rounded(std::nextafter(middle, high)), bits + 1) << middle;
    }
  }
}

TYPED_TEST(NarrowFloatTest, WhatIsTooLargeIsNotFinite) {
  using T = TypeParam;
  const auto most = static_cast<double>(OfBits<T>(T::kBeyond - 1));
  const auto less = static_cast<double>(OfBits<T>(T::kBeyond - 2));
  const double middle = most + (most - less) / 2;
  EXPECT_EQ(T::Round(std::nextafter(middle, 0)).bits, T::kBeyond - 1);
  // The greatest number of E4M3 is even, the others' are odd.
  constexpr bool is_even = (T::kBeyond - 1) % 2 == 0;
  EXPECT_EQ(T::Round(middle).bits, is_even ? T::kBeyond - 1 : T::kBeyond);
  EXPECT_EQ(T::Round(1e300).bits, T::kBeyond);
  EXPECT_EQ(T::Round(std::numeric_limits<double>::infinity()).bits, T::kBeyond);
  EXPECT_EQ(T::Round(std::numeric_limits<double>::quiet_NaN()).bits, T::kNaN);
}

TEST(NarrowFloat, HasTheRangesOfItsStandard) {
  auto number = [](auto narrow) { return static_cast<double>(narrow); };
  EXPECT_EQ(number(F16{0x7bff}), 65504);
  EXPECT_EQ(number(F16{1}), 0x1p-24);
  EXPECT_EQ(number(BF16{0x7f7f}), 0x1.fep127);
  EXPECT_EQ(number(BF16{1}), 0x1p-133);
  EXPECT_EQ(number(F8E5M2{0x7b}), 57344);
  EXPECT_EQ(number(F8E5M2{1}), 0x1p-16);
  EXPECT_EQ(number(F8E4M3{0x7e}), 448);
  EXPECT_EQ(number(F8E4M3{1}), 0x1p-9);
  EXPECT_EQ(number(F8E4M3{0x38}), 1);
  EXPECT_TRUE(std::isnan(number(F8E4M3{0x7f})));
  EXPECT_TRUE(std::isinf(number(F8E5M2{0x7c})));
}

}  // namespace
}  // namespace ocannl
