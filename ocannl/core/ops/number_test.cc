// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/number.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "gtest/gtest.h"

namespace ocannl {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
constexpr int32_t kMost = std::numeric_limits<int32_t>::max();

TEST(NumberTest, IntegersWrapAround) {
  EXPECT_EQ(number::Add(kMost, 1), kLeast);
  EXPECT_EQ(number::Sub(kLeast, 1), kMost);
  EXPECT_EQ(number::Mul(kMost, kMost), 1);
  EXPECT_EQ(number::Neg(kLeast), kLeast);
  EXPECT_EQ(number::Abs(kLeast), kLeast);
  EXPECT_EQ(number::Abs(-7), 7);
  EXPECT_EQ(number::Add(uint8_t{255}, uint8_t{2}), 1);
  EXPECT_EQ(number::Mul(uint64_t{1} << 63, uint64_t{3}), uint64_t{1} << 63);
}

TEST(NumberTest, DivisionTruncatesAndGivesZeroForZero) {
  EXPECT_EQ(number::Div(-7, 2), -3);
  EXPECT_EQ(number::Rem(-7, 2), -1);
  EXPECT_EQ(number::Rem(7, -2), 1);
  EXPECT_EQ(number::Div(7, 0), 0);
  EXPECT_EQ(number::Rem(7, 0), 0);
  EXPECT_EQ(number::Rem(-7.5, 2.), -1.5);
  EXPECT_EQ(number::Rem(7.5f, -2.f), 1.5f);
  EXPECT_TRUE(std::isnan(number::Rem(1., 0.)));
  EXPECT_EQ(number::Div(kLeast, -1), kLeast);
  EXPECT_EQ(number::Rem(kLeast, -1), 0);
  EXPECT_EQ(number::Div(1.0f, 0.0f), kInfinity);
}

TEST(NumberTest, SecondOperandOfMinAndMaxWinsUnlessOrdered) {
  EXPECT_EQ(number::Max(1.0f, 2.0f), 2);
  EXPECT_EQ(number::Min(1.0f, 2.0f), 1);
  EXPECT_TRUE(std::isnan(number::Max(1.0f, kNan)));
  EXPECT_EQ(number::Max(kNan, 1.0f), 1);
  EXPECT_TRUE(std::isnan(number::Min(1.0f, kNan)));
  EXPECT_EQ(number::Min(kNan, 1.0f), 1);
  EXPECT_TRUE(std::signbit(number::Max(0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(number::Max(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(number::Min(0.0f, -0.0f)));
}

TEST(NumberTest, FmaRoundsOnce) {
  const float a = 1 + 0x1p-12f;
  EXPECT_EQ(number::Fma(a, a, -1 - 0x1p-11f), 0x1p-24f);
  EXPECT_EQ(number::Add(number::Mul(a, a), -1 - 0x1p-11f), 0);
}

TEST(NumberTest, RoundTakesHalvesToEven) {
  EXPECT_EQ(number::Round(0.5f), 0);
  EXPECT_EQ(number::Round(1.5f), 2);
  EXPECT_EQ(number::Round(2.5f), 2);
  EXPECT_EQ(number::Round(-2.5f), -2);
  EXPECT_TRUE(std::signbit(number::Round(-0.25f)));
  EXPECT_EQ(number::Floor(-0.5f), -1);
  EXPECT_EQ(number::Ceil(0.5), 1);
  EXPECT_EQ(number::Trunc(-1.5), -1);
}

TEST(NumberTest, ComparisonsWithNanAreFalseButOne) {
  EXPECT_FALSE(number::Less(kNan, 1.0f));
  EXPECT_FALSE(number::LessEqual(kNan, kNan));
  EXPECT_FALSE(number::Equal(kNan, kNan));
  EXPECT_TRUE(number::NotEqual(kNan, kNan));
  EXPECT_TRUE(number::Equal(0.0f, -0.0f));
  EXPECT_EQ(number::Select(true, 1, 2), 1);
}

TEST(NumberTest, ShiftsByTheWidthShiftEverythingOut) {
  EXPECT_EQ(number::Shl(1u, 31u), 0x80000000);
  EXPECT_EQ(number::Shl(1u, 32u), 0);
  EXPECT_EQ(number::Shl(1, -1), 0);
  EXPECT_EQ(number::Shr(0x80000000u, 31u), 1);
  EXPECT_EQ(number::Shr(0x80000000u, 32u), 0);
  EXPECT_EQ(number::Shr(-8, 1), -4);
  EXPECT_EQ(number::Shr(-8, 32), -1);
  EXPECT_EQ(number::Shl(uint8_t{0x81}, uint8_t{1}), 2);
  EXPECT_EQ(number::Rotl(0x80000001u, 1u), 3);
  EXPECT_EQ(number::Rotl(0x80000001u, 33u), 3);
  EXPECT_EQ(number::Rotl(uint8_t{0x81}, uint8_t{1}), 3);
}

TEST(NumberTest, BitsOfBoolsAreLogic) {
  EXPECT_TRUE(number::And(true, true));
  EXPECT_TRUE(number::Or(true, false));
  EXPECT_FALSE(number::Xor(true, true));
  EXPECT_FALSE(number::Not(true));
  EXPECT_EQ(number::Not(0u), 0xffffffff);
}

TEST(NumberTest, FloatsConvertToIntegersTruncatingAndSaturating) {
  EXPECT_EQ((number::Convert<int32_t>(-1.9f)), -1);
  EXPECT_EQ((number::Convert<int32_t>(0x1p31f)), kMost);
  EXPECT_EQ((number::Convert<int32_t>(-0x1p31f)), kLeast);
  EXPECT_EQ((number::Convert<int32_t>(-kInfinity)), kLeast);
  EXPECT_EQ((number::Convert<int32_t>(kNan)), 0);
  EXPECT_EQ((number::Convert<int32_t>(-2147483648.5)), kLeast);
  EXPECT_EQ((number::Convert<int32_t>(2147483647.5)), kMost);
  EXPECT_EQ((number::Convert<uint8_t>(-0.5f)), 0);
  EXPECT_EQ((number::Convert<uint8_t>(-1.0f)), 0);
  EXPECT_EQ((number::Convert<uint8_t>(255.9f)), 255);
  EXPECT_EQ((number::Convert<uint8_t>(256.0f)), 255);
  EXPECT_EQ((number::Convert<uint64_t>(0x1p64)),
            std::numeric_limits<uint64_t>::max());
  EXPECT_EQ((number::Convert<uint64_t>(0x1p63)), uint64_t{1} << 63);
  EXPECT_EQ((number::Convert<int64_t>(0x1p63)),
            std::numeric_limits<int64_t>::max());
}

TEST(NumberTest, NarrowFloatsRoundOnce) {
  auto half = [](auto x) { return float(number::Convert<F16>(x)); };
  auto brain = [](auto x) { return float(number::Convert<BF16>(x)); };
  // By way of a float, or of a double, these would be in the middle.
  EXPECT_EQ(half(1 + 0x1p-11), 1);
  EXPECT_EQ(half(1 + 0x1p-11 + 0x1p-30), 1 + 0x1p-10);
  EXPECT_EQ(brain(int64_t{1} << 62), 0x1p62);
  EXPECT_EQ(brain((int64_t{1} << 62) + (int64_t{1} << 54)), 0x1p62);
  EXPECT_EQ(brain((int64_t{1} << 62) + (int64_t{1} << 54) + 1),
            0x1p62 + 0x1p55);
  EXPECT_EQ(brain(-(int64_t{1} << 62) - (int64_t{1} << 54) - 1),
            -0x1p62 - 0x1p55);
  EXPECT_EQ(brain(std::numeric_limits<int64_t>::min()), -0x1p63);
  EXPECT_EQ(brain(~uint64_t{0}), 0x1p64);
  EXPECT_EQ(half(65519), 65504);
  EXPECT_EQ(half(65520), kInfinity);
  EXPECT_EQ(half(true), 1);
  EXPECT_EQ((number::Convert<uint16_t>(F16::Round(-1))), 0);
  EXPECT_EQ((number::Convert<uint16_t>(F16{0x7c00})), 65535);
  EXPECT_EQ((number::Convert<int64_t>(BF16::Round(0x1p40))), int64_t{1} << 40);
  EXPECT_TRUE((number::Convert<bool>(F8E4M3{1})));
  EXPECT_EQ((number::Convert<F8E4M3>(F8E5M2::Round(1.75)).bits), 0x3e);
  EXPECT_EQ((number::Bitcast<uint16_t>(F16::Round(-2))), 0xc000);
}

// The nearest of three neighbours, compared exactly: a long double holds all.
TEST(NumberTest, IntegersBecomeTheNearestNarrowFloat) {
  auto distance = [](long double x, int bits) {
    return std::abs(x - static_cast<float>(BF16{static_cast<uint16_t>(bits)}));
  };
  std::mt19937_64 random(5);
  for (int k = 0; k < 100'000; ++k) {
    // Few bits far apart are often close to the middle.
    const uint64_t x =
        (random() | 1) >> random() % 64 & (~uint64_t{0} << random() % 64 | 1);
    const int bits = number::Convert<BF16>(x).bits;
    const long double error = distance(x, bits);
    for (int other : {bits - 1, bits + 1}) {
      if (x == 0) continue;
      EXPECT_LE(error, distance(x, other)) << x;
      EXPECT_TRUE(error < distance(x, other) || bits % 2 == 0) << x;
    }
    const auto y = static_cast<int64_t>(x >> 1);
    EXPECT_EQ(number::Convert<BF16>(-y).bits,
              number::Convert<BF16>(y).bits | (y == 0 ? 0 : BF16::kSign));
  }
}

TEST(NumberTest, OtherConversions) {
  EXPECT_EQ((number::Convert<uint8_t>(-1)), 255);
  EXPECT_EQ((number::Convert<int32_t>(uint64_t{0x1ffffffff})), -1);
  EXPECT_EQ((number::Convert<float>(16777217)), 16777216);
  EXPECT_EQ((number::Convert<float>(16777219)), 16777220);
  EXPECT_EQ((number::Convert<float>(1 + 0x1p-24)), 1);
  EXPECT_EQ((number::Convert<float>(1e300)), kInfinity);
  EXPECT_TRUE((number::Convert<bool>(0.5f)));
  EXPECT_FALSE((number::Convert<bool>(-0.0f)));
  EXPECT_TRUE((number::Convert<bool>(kNan)));
  EXPECT_EQ((number::Convert<float>(true)), 1);
  EXPECT_EQ((number::Bitcast<uint32_t>(1.0f)), 0x3f800000);
}

}  // namespace
}  // namespace ocannl
