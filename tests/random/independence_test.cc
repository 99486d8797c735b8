// SPDX-License-Identifier: Apache-2.0
//
// Random numbers do not depend on each other: neighbouring cells, draws, seeds
// and steps of all generators, of dropout and of the first values of
// parameters. Threefry's light variant, whose numbers do, shows in each test
// that the test would notice. 5 seconds.
//
// A statistic is given in standard deviations of the one of independent
// numbers. 5.5 of them have a probability of 4e-8; a test has up to 4,000
// statistics.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/train/blocks/init.h"
#include "tests/random/draws.h"

namespace ocannl {
namespace {

using train::Training;

constexpr double kMost = 5.5;
// That of what depends on each other, in 2^18 cells.
constexpr double kClear = 20;

constexpr int64_t kLags[] = {
    1,   2,   3,   4,   5,   6,   7,   8,   9,   10,   11,   12,  13,  14,
    15,  16,  17,  24,  31,  32,  33,  48,  63,  64,   65,   96,  127, 128,
    129, 192, 255, 256, 257, 384, 511, 512, 513, 1024, 2048, 4096};
static_assert(std::size(kLags) == 40);

// The greatest correlation of the cells of `a` with later ones of `b`.
double GreatestLater(const Cells& a, const Cells& b) {
  double greatest = 0;
  for (const int64_t lag : kLags) {
    greatest = std::max(greatest, std::abs(Correlation(a, b, lag)));
  }
  return greatest;
}

// The distances from the mean, which cells may have in common without being
// correlated.
Cells Distances(Cells standardised) {
  for (float& cell : standardised) cell = std::abs(cell);
  return standardised;
}

// The greatest serial correlation of the cells, or of their distances.
double Serial(const Cells& cells) {
  const Cells a = Standardised(cells);
  double greatest = GreatestLater(a, a);
  const Cells distances = Distances(a);
  const auto [least, most] =
      std::minmax_element(distances.begin(), distances.end());
  if (*most - *least > 1e-3) {  // not so of a fair coin
    const Cells b = Standardised(distances);
    greatest = std::max(greatest, GreatestLater(b, b));
  }
  return greatest;
}

// The greatest correlation of the two, of cells at one place included.
double Between(const Cells& first, const Cells& second) {
  const Cells a = Standardised(first), b = Standardised(second);
  return std::max({std::abs(Correlation(a, b, 0)), GreatestLater(a, b),
                   GreatestLater(b, a)});
}

// What Dropout would be by the light variant.
MakeDraw LightDropout(double rate) {
  return [=](Tensor ones, Training& training) {
    return Select(LessEqual(rate, Light()(ones, training)), ones, 0);
  };
}

std::map<std::string, MakeDraw> Generators() {
  std::map<std::string, MakeDraw> all;
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16,
                            DType::kF8E4M3, DType::kF8E5M2}) {
    auto add = [&](const std::string& name, decltype(&Uniform) random) {
      all.emplace(absl::StrCat(name, " ", Name(dtype)), Of(random, dtype));
    };
    add("uniform1", &Uniform1);
    add("uniform", &Uniform);
    add("normal1", &Normal1);
    add("normal", &Normal);
  }
  // The bits of f64 that f32 does not have.
  for (auto* random : {&Uniform1, &Uniform}) {
    all.emplace(random == &Uniform1 ? "low bits of uniform1 f64"
                                    : "low bits of uniform f64",
                [=](Tensor ones, Training& training) {
                  const Tensor u =
                      Mul(Of(random, DType::kF64)(ones, training), 0x1p27);
                  return u - Floor(u);
                });
  }
  // All words, and all of their bits: a byte of each at a time.
  for (int word = 0; word < 4; ++word) {
    for (int byte = 0; byte < 4; ++byte) {
      all.emplace(absl::StrCat("byte ", byte, " of word ", word),
                  [=](Tensor ones, Training&) {
                    const Tensor bits = ThreefryCrypto(
                        7, 0, 0, 0, Offsets(*ones.graph, DType::kU32), word);
                    return Convert(And(Shr(bits, 8 * byte), 255), DType::kF32);
                  });
    }
  }
  for (const double rate : {0.05, 0.1, 0.25, 0.5, 0.75, 0.9}) {
    all.emplace(absl::StrCat("dropout ", rate), Dropout(rate));
  }
  return all;
}

TEST(IndependenceTest, NeighbouringCells) {
  for (const auto& [name, make] : Generators()) {
    EXPECT_LT(Serial(DrawCells(make)), kMost) << name;
  }
  EXPECT_GT(Serial(DrawCells(Light())), kClear);
  for (const double rate : {0.1, 0.5, 0.9}) {
    EXPECT_GT(Serial(DrawCells(LightDropout(rate))), kClear) << rate;
  }
}

TEST(IndependenceTest, MeanAndVariance) {
  auto check = [](const MakeDraw& make, double mean, double variance) {
    const Cells cells = DrawCells(make);
    const auto [least, most] = std::minmax_element(cells.begin(), cells.end());
    double sum = 0, squares = 0;
    for (const double cell : cells) {
      sum += cell - mean;
      squares += (cell - mean) * (cell - mean);
    }
    const auto size = static_cast<double>(cells.size());
    EXPECT_NEAR(sum / size, 0, kMost * std::sqrt(variance / size));
    // That of the square of a normal number has a variance of 2.
    EXPECT_NEAR(squares / size, variance,
                kMost * variance * std::sqrt(2 / size));
    return std::pair(*least, *most);
  };
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (auto* uniform : {&Uniform1, &Uniform}) {
      const auto [least, most] = check(Of(uniform, dtype), 0.5, 1 / 12.);
      EXPECT_GE(least, 0);
      EXPECT_LE(most, 1);
    }
  }
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}) {
    for (auto* normal : {&Normal1, &Normal}) check(Of(normal, dtype), 0, 1);
  }
}

TEST(IndependenceTest, FirstValues) {
  const std::map<std::string, Initializer> initialisers = {
      {"default", DefaultInit},
      {"kaiming uniform", train::KaimingUniform()},
      {"kaiming normal", train::KaimingNormal()},
      {"xavier uniform", train::XavierUniform(1)},
      {"xavier normal", train::XavierNormal(9)},
      {"normal", train::NormalInit(0.02)},
      {"kaiming of uniform1",
       [](Tensor w) { return Kaiming(Uniform1(*w.graph), w, 6); }},
      {"xavier of normal1",
       [](Tensor w) { return Xavier(Normal1(*w.graph), w, 2); }},
  };
  for (const auto& [name, init] : initialisers) {
    EXPECT_LT(Serial(FirstValue(init, 512, 512)), kMost) << name;
  }
  const Initializer light = [](Tensor w) {
    return LightUniform(Number(*w.graph, 0), 1);
  };
  EXPECT_GT(Serial(FirstValue(light, 512, 512)), kClear);
}

TEST(IndependenceTest, NeighbouringDraws) {
  auto greatest = [](const MakeDraw& make) {
    double most = 0;
    Cells last = DrawCells(make);
    for (int skipped = 1; skipped <= 8; ++skipped) {
      Cells next = DrawCells(make, {.skipped = skipped});
      most = std::max(most, Between(last, next));
      last = std::move(next);
    }
    return most;
  };
  EXPECT_LT(greatest(Of(&Uniform1)), kMost);
  EXPECT_LT(greatest(Of(&Uniform)), kMost);
  EXPECT_LT(greatest(Dropout(0.5)), kMost);
  EXPECT_GT(greatest(Light()), kClear);
}

TEST(IndependenceTest, NeighbouringSeeds) {
  auto greatest = [](const MakeDraw& make) {
    double most = 0;
    for (const uint32_t seed : {0u, 1u, 41u, 0xfffffffeu}) {
      most = std::max(most, Between(DrawCells(make, {.seed = seed}),
                                    DrawCells(make, {.seed = seed + 1})));
    }
    // The next seed of this draw, and the next draw of this seed.
    return std::max(most, Between(DrawCells(make, {.seed = 8}),
                                  DrawCells(make, {.seed = 7, .skipped = 1})));
  };
  EXPECT_LT(greatest(Of(&Uniform1)), kMost);
  EXPECT_LT(greatest(Dropout(0.5)), kMost);
}

TEST(IndependenceTest, NeighbouringSteps) {
  constexpr int64_t kHigh = int64_t{1} << 32;
  auto greatest = [](const MakeDraw& make, std::vector<int64_t> numbers) {
    const std::vector<Cells> steps = DrawSteps(make, {}, numbers);
    double most = 0;
    for (size_t k = 1; k < steps.size(); ++k) {
      most = std::max(most, Between(steps[k - 1], steps[k]));
    }
    return most;
  };
  const std::vector<int64_t> steps = {0,    1,     2,         3, 1000,
                                      1001, kHigh, kHigh + 1, 0, kHigh};
  EXPECT_LT(greatest(Of(&Uniform1), steps), kMost);
  EXPECT_LT(greatest(Of(&Normal), steps), kMost);
  EXPECT_LT(greatest(Dropout(0.1), steps), kMost);
  EXPECT_LT(greatest(Dropout(0.5), steps), kMost);
  EXPECT_GT(greatest(Light(), {0, 1, 2, 3}), kClear);
}

// Two that follow each other in one graph, and in one step.
TEST(IndependenceTest, TwoDropouts) {
  auto second = [](Tensor ones, Training& training) {
    train::Dropout(ones, 0.5, &training);
    return train::Dropout(ones, 0.5, &training);
  };
  EXPECT_LT(Between(DrawCells(Dropout(0.5)), DrawCells(second)), kMost);
}

}  // namespace
}  // namespace ocannl
