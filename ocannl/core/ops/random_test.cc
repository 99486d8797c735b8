// SPDX-License-Identifier: Apache-2.0
#include "ocannl/core/ops/random.h"

#include <array>
#include <cstdint>

#include "gtest/gtest.h"
#include "ocannl/core/ops/expr.h"
#include "ocannl/core/ops/rows.h"

namespace ocannl {
namespace {

using Words = std::array<uint32_t, 4>;

constexpr Words kKey = {0x80000bb5, 0x4e4e53bb, 0x16580bb0, 0x9c2ea78e};

// Word `word` as the rows of ops.def compute it.
uint32_t FoldedWord(Op op, const Words& key, uint32_t counter, uint32_t word) {
  ExprPool pool;
  std::vector<Expr> args;
  for (uint32_t arg : {key[0], key[1], key[2], key[3], counter, word}) {
    args.push_back(Literal(pool, DType::kU32, arg));
  }
  return static_cast<uint32_t>(
      Fold(pool, ApplyOp(op, args, DType::kU32).id()).bits);
}

TEST(RandomTest, KnownBlocks) {
  constexpr auto kLight = ThreefryVariant::kLight;
  constexpr auto kCrypto = ThreefryVariant::kCrypto;
  EXPECT_EQ(Threefry(kLight, {2, 0, 0, 0}, {42, 0, 0, 0}), kKey);
  EXPECT_EQ(Threefry(kLight, {}, {}), (Words{0, 0, 0, 0x1bd11bdb}));
  EXPECT_EQ(Threefry(kCrypto, {}, {}),
            (Words{0xaed7ff00, 0xdea3e3f9, 0x9c760045, 0xcd7c88b6}));
  EXPECT_EQ(Threefry(kLight, {1, 2, 3, 4}, {5, 6, 7, 8}),
            (Words{0xd34edf16, 0x15111494, 0x5f161b96, 0x23d327f2}));
  EXPECT_EQ(Threefry(kCrypto, {1, 2, 3, 4}, {5, 6, 7, 8}),
            (Words{0x680d9e8e, 0x395e5c30, 0xf480106d, 0x557b82c0}));
}

TEST(RandomTest, KnownUniforms) {
  constexpr double kUniforms[] = {0.449996, 0.395914, 0.694856, 0.640835,
                                  0.186637};
  for (uint32_t i = 0; i < 5; ++i) {
    const uint32_t word = FoldedWord(Op::kThreefryLight, kKey, i, 0);
    EXPECT_NEAR((word >> 8) * 0x1p-24, kUniforms[i], 5e-7) << i;
  }
}

// The halves of each word, the low one first.
TEST(RandomTest, KnownHalves) {
  constexpr double kHalves[] = {0.4432, 0.4638, 0.6731, 0.7325, 0.3327, 0.5608,
                                0.8518, 0.5066, 0.3778, 0.5019, 0.6561, 0.9659};
  for (uint32_t i = 0; i < 12; ++i) {
    const uint32_t word =
        FoldedWord(Op::kThreefryLight, {42, 0, 0, 0}, i / 8, i / 2 % 4);
    const uint32_t half = i % 2 == 0 ? word & 0xFFFF : word >> 16;
    EXPECT_NEAR(half * 0x1p-16, kHalves[i], 5.1e-5) << i;
  }
}

TEST(RandomTest, RowsComputeTheBlockOfTheSpreadCounter) {
  for (uint32_t counter : {0u, 1u, 42u, 0x80000001u, 0xffffffffu}) {
    const Words spread = {counter, counter ^ 0x9E3779B9u, counter ^ 0x6C078965u,
                          counter ^ ((counter << 16) | (counter >> 16))};
    const Words light = Threefry(ThreefryVariant::kLight, kKey, spread);
    const Words crypto = Threefry(ThreefryVariant::kCrypto, kKey, spread);
    for (uint32_t word = 0; word < 4; ++word) {
      EXPECT_EQ(FoldedWord(Op::kThreefryLight, kKey, counter, word),
                light[word]);
      EXPECT_EQ(FoldedWord(Op::kThreefryCrypto, kKey, counter, word),
                crypto[word]);
    }
  }
}

}  // namespace
}  // namespace ocannl
