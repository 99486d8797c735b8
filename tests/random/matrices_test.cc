// SPDX-License-Identifier: Apache-2.0
//
// Matrices of random numbers are like those of independent ones, which
// Threefry's light variant does not make: singular values, columns, and the
// scale of layers. 4 seconds.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/compile.h"
#include "ocannl/core/tensor/initializer.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/tiers/tiers.h"
#include "ocannl/train/blocks/init.h"
#include "ocannl/train/blocks/params.h"
#include "ocannl/train/graph/model.h"
#include "tests/random/draws.h"
#include "tests/support/test_device.h"

namespace ocannl {
namespace {

// By power iteration.
double LargestSingularValue(const Cells& matrix, int64_t rows,
                            int64_t columns) {
  std::vector<double> v(columns, 1), u(rows);
  double length = 0;
  for (int iteration = 0; iteration < 60; ++iteration) {
    for (int64_t i = 0; i < rows; ++i) {
      u[i] = 0;
      for (int64_t j = 0; j < columns; ++j) {
        u[i] += matrix[i * columns + j] * v[j];
      }
    }
    std::fill(v.begin(), v.end(), 0);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        v[j] += matrix[i * columns + j] * u[i];
      }
    }
    length = 0;
    for (const double each : v) length += each * each;
    length = std::sqrt(length);
    for (double& each : v) each /= length;
  }
  return std::sqrt(length);
}

// That of independent numbers of variance 1 is near 2 sqrt(512), 45.3, and of
// an odds of 1e-9 above 48 (Tracy and Widom's law).
TEST(MatricesTest, SingularValuesOfMatrices) {
  auto value = [](const MakeDraw& make) {
    return LargestSingularValue(Standardised(DrawCells(make)), 512, 512);
  };
  EXPECT_NEAR(value(Of(&Normal)), 45.3, 2.7);
  EXPECT_NEAR(value(Of(&Normal1)), 45.3, 2.7);
  EXPECT_NEAR(value(Of(&Uniform)), 45.3, 2.7);
  EXPECT_NEAR(value(Of(&Uniform1)), 45.3, 2.7);
  EXPECT_NEAR(value(Dropout(0.5)), 45.3, 2.7);
  EXPECT_GT(value(Light()), 60);
}

// Of 64 rows; that of independent ones reaches 0.75 with a probability of 1e-6.
TEST(MatricesTest, ColumnsOfMatrices) {
  constexpr int64_t kRows = 64, kColumns = 1024;
  auto greatest = [](const MakeDraw& make) {
    const Cells cells = DrawCells(make, {.cells = kRows * kColumns});
    std::vector<Cells> columns;
    for (int64_t j = 0; j < kColumns; ++j) {
      Cells& column = columns.emplace_back();
      for (int64_t i = 0; i < kRows; ++i) {
        column.push_back(cells[i * kColumns + j]);
      }
      column = Standardised(std::move(column));
    }
    double most = 0;
    for (size_t a = 0; a < columns.size(); ++a) {
      for (size_t b = 0; b < a; ++b) {
        most = std::max(most, std::abs(Correlation(columns[a], columns[b], 0)));
      }
    }
    return most / std::sqrt(kRows);
  };
  EXPECT_LT(greatest(Of(&Uniform)), 0.75);
  EXPECT_LT(greatest(Of(&Uniform1)), 0.75);
  EXPECT_GT(greatest(Light()), 0.9);
}

// The root mean square of what 16 ReLU layers of 512 make of numbers of which
// it is 1.
double ScaleOfLayers(uint32_t seed, const Initializer& init) {
  train::Model model;
  model.graph.set_seed(seed);
  NdArray examples(DType::kF32, {64, 512});
  std::mt19937 random(seed);
  for (float& cell : examples.values<float>()) {
    cell = (static_cast<float>(random()) * 0x1p-31f - 1) * std::sqrt(3.f);
  }
  Tensor h = Data(model.graph, "x", std::move(examples),
                  {.rows = {Dims{64}, Dims{512}, Dims{}}});
  const train::ParamScope scope{.graph = &model.graph, .name = "layer"};
  for (int layer = 0; layer < 16; ++layer) {
    h = Relu(train::MakeParam(scope / absl::StrCat(layer), "w", Dims{512},
                              Dims{512}, init) *
             h);
  }
  const Tensor rms =
      Named(Sqrt(Einsum1("...|... => 0", PointMul(h, h)) / (64 * 512)), "rms");
  absl::StatusOr<Assignments> first = train::InitParams(model, rms);
  absl::StatusOr<Assignments> forward = train::Forward(model, rms);
  CHECK_OK(first);
  CHECK_OK(forward);
  const TestDevice device(*FindTier("x86"));
  absl::StatusOr<Routine> routine =
      ToRoutine(device.context, train::Sequence("all", {*first, *forward}), {});
  CHECK_OK(routine);
  CHECK_OK(routine->Run());
  return routine->context().Read("rms")->AsDouble(0);
}

// He et al. (2015): the scale stays, in the mean over weights. Of the squares
// of single seeds, that of 64 examples has a deviation of about 0.25.
TEST(MatricesTest, KaimingUniformKeepsTheScaleOfReluLayers) {
  auto mean = [](const Initializer& init) {
    constexpr int kSeeds = 16;
    double squares = 0;
    for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
      const double rms = ScaleOfLayers(seed, init);
      squares += rms * rms;
    }
    return std::sqrt(squares / kSeeds);
  };
  const double rms = mean(train::KaimingUniform());
  EXPECT_GT(rms, 0.94);
  EXPECT_LT(rms, 1.07);
  const double light = mean([](Tensor w) {
    const Tensor uniform =
        LightUniform(Number(*w.graph, 0), w.graph->NextRandom());
    return Mul(uniform - 0.5, 2 * std::sqrt(6. / 512));
  });
  EXPECT_LT(light, 0.8);
}

}  // namespace
}  // namespace ocannl
