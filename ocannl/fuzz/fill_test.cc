// SPDX-License-Identifier: Apache-2.0
#include "ocannl/fuzz/fill.h"

#include <cmath>

#include "absl/algorithm/container.h"
#include "gtest/gtest.h"
#include "ocannl/fuzz/programs/policy.h"

namespace ocannl::fuzz {
namespace {

TEST(FillTest, DependsOnSeedNameAndKind) {
  Buffer buffer = {"x", DType::kF32, Role::kIn, {50}};
  NdArray x = FillBuffer(buffer, FillKind::kUnit, 1);
  EXPECT_TRUE(SameBits(x, FillBuffer(buffer, FillKind::kUnit, 1)));
  EXPECT_FALSE(SameBits(x, FillBuffer(buffer, FillKind::kUnit, 2)));
  EXPECT_FALSE(SameBits(x, FillBuffer(buffer, FillKind::kZoo, 1)));
  buffer.name = "y";
  EXPECT_FALSE(SameBits(x, FillBuffer(buffer, FillKind::kUnit, 1)));
}

TEST(FillTest, SmallIntegersAreThat) {
  for (DType dtype : kDTypes) {
    NdArray x =
        FillBuffer({"x", dtype, Role::kIn, {99}}, FillKind::kSmallIntegers, 1);
    for (int64_t k = 0; k < x.size(); ++k) {
      double value = x.AsDouble(k);
      EXPECT_EQ(value, std::floor(value));
      EXPECT_LE(IsSigned(dtype) ? std::abs(value) : 0, 8);
    }
  }
}

TEST(FillTest, BoolsAreZeroOrOne) {
  for (FillKind kind : {FillKind::kUnit, FillKind::kSmallIntegers,
                        FillKind::kLogUniform, FillKind::kZoo}) {
    NdArray x = FillBuffer({"x", DType::kBool, Role::kIn, {99}}, kind, 1);
    for (int64_t k = 0; k < x.size(); ++k) {
      EXPECT_LE(static_cast<int>(x.data()[k]), 1);
    }
  }
}

TEST(ZooTest, HasTheCases) {
  auto has = [](DType dtype, uint64_t bits) {
    return absl::c_linear_search(Zoo(dtype), Constant{dtype, bits});
  };
  EXPECT_TRUE(has(DType::kF32, 0x80000000));          // -0
  EXPECT_TRUE(has(DType::kF32, 0x7fc00000));          // nan
  EXPECT_TRUE(has(DType::kF32, 0xffc00000));          // another nan
  EXPECT_TRUE(has(DType::kF16, 0xfc5a));              // and
  EXPECT_TRUE(has(DType::kF32, 0xff800000));          // -inf
  EXPECT_TRUE(has(DType::kF32, 1));                   // the least denormal
  EXPECT_TRUE(has(DType::kF64, 0x7fefffffffffffff));  // the greatest
  EXPECT_TRUE(has(DType::kI32, 0x80000000));
  EXPECT_TRUE(has(DType::kI32, 0xffffffff));
  EXPECT_TRUE(has(DType::kI64, 0x8000000000000000));
  EXPECT_TRUE(has(DType::kU8, 255));
  EXPECT_TRUE(has(DType::kU64, 64));
  EXPECT_EQ(Zoo(DType::kBool).size(), 2u);
}

TEST(FillStaticsTest, InRange) {
  LoopProgram program;
  program.statics = {{"a", 3}, {"b", kUnranged}};
  bool last = false;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<int64_t> values = FillStatics(program, seed);
    ASSERT_EQ(values.size(), 2u);
    EXPECT_GE(values[0], 0);
    EXPECT_LT(values[0], 3);
    last = last || values[0] == 2;
  }
  EXPECT_TRUE(last);
}

}  // namespace
}  // namespace ocannl::fuzz
