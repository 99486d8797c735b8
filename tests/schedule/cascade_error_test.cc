// SPDX-License-Identifier: Apache-2.0
//
// The errors of sums in blocks, as tables for docs/numerics.md:
//
//   bazel run //tests/schedule:cascade_error_test
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/schedule/plain_cascade.h"

namespace ocannl {
namespace {

// The root of the mean square of relative errors, in units of 2^-24.
TEST(CascadeErrorTest, Forms) {
  std::printf("| terms | chain | 64 lanes | cascade | cascade in lanes |\n");
  std::printf("|---:|---:|---:|---:|---:|\n");
  for (const int64_t n : {1000, 10'000, 100'000, 1'000'000, 10'000'000}) {
    constexpr int kSums = 4;
    double squares[4] = {};
    for (int seed = 0; seed < kSums; ++seed) {
      std::mt19937 random(seed);
      double exact = 0;
      float chain = 0;
      std::vector<float> lanes(64);
      std::vector<Cascade> cascades(64, Cascade(128));
      Cascade cascade(128);
      for (int64_t k = 0; k < n; ++k) {
        const float term = static_cast<float>(random()) * 0x1p-32f;
        exact += term;
        chain += term;
        lanes[k % 64] += term;
        cascade.Add(term);
        cascades[k % 64].Add(term);
      }
      std::vector<float> sums;
      for (const Cascade& lane : cascades) sums.push_back(lane.Sum());
      auto tree = [](std::vector<float> values) {
        for (int half = 32; half > 0; half /= 2) {
          for (int k = 0; k < half; ++k) values[k] += values[k + half];
        }
        return values[0];
      };
      const float results[] = {chain, tree(lanes), cascade.Sum(), tree(sums)};
      for (int k = 0; k < 4; ++k) {
        const double error = (results[k] - exact) / exact * 0x1p24;
        squares[k] += error * error / kSums;
      }
    }
    std::printf("| %lld |", static_cast<long long>(n));
    for (double square : squares) std::printf(" %.2g |", std::sqrt(square));
    std::printf("\n");
    EXPECT_LT(std::sqrt(squares[2]), 4) << n;
    EXPECT_LT(std::sqrt(squares[3]), 2) << n;
  }
}

// The same of blocks of other sizes: of terms, in blocks of as many, and of
// products, in blocks of 128.
TEST(CascadeErrorTest, SizesOfBlocks) {
  std::printf(
      "| terms of a block | 10^4 | 10^5 | 10^6 |\n|---:|---:|---:|---:|\n");
  for (const int64_t block : {64, 128, 256, 512, 1024, 2048}) {
    const bool has_products = block >= 512;
    std::printf("| %lld |", static_cast<long long>(block));
    for (const int64_t n : {10'000, 100'000, 1'000'000}) {
      constexpr int kSums = 16;
      double square = 0;
      for (int seed = 0; seed < kSums; ++seed) {
        std::mt19937 random(seed);
        double exact = 0;
        Cascade cascade(block, 0, has_products ? 128 : block);
        for (int64_t k = 0; k < n; ++k) {
          const float a = static_cast<float>(random()) * 0x1p-32f;
          const float b =
              has_products ? static_cast<float>(random()) * 0x1p-32f : 1;
          exact += static_cast<double>(a) * b;
          cascade.AddProduct(a, b);
        }
        const double error = (cascade.Sum() - exact) / exact * 0x1p24;
        square += error * error / kSums;
      }
      std::printf(" %.2g |", std::sqrt(square));
      EXPECT_LT(std::sqrt(square), 16) << block << ", " << n;
    }
    std::printf("\n");
  }
}

}  // namespace
}  // namespace ocannl
