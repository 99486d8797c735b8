// SPDX-License-Identifier: Apache-2.0
//
// Pooling and convolutions against loops over the cells of each window, as
// PyTorch and ONNX define them: the number of windows rounded down or up, all
// paddings, dilation, and which cells a mean counts. About 10 s.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/train/blocks/conv.h"
#include "tests/blocks/block_check.h"

namespace ocannl {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using train::Conv2d;
using train::Conv2dOptions;
using train::Padding;
using train::ParamScope;
using train::WindowOptions;

ApplyBlock MaxPool(const WindowOptions& windows) {
  return [=](const ParamScope&, Tensor x) { return MaxPool2d(x, windows); };
}

ApplyBlock AvgPool(const WindowOptions& windows) {
  return [=](const ParamScope&, Tensor x) { return AvgPool2d(x, windows); };
}

std::vector<double> Cells(int64_t count) {
  std::vector<double> cells;
  for (int64_t k = 0; k < count; ++k) {
    cells.push_back(static_cast<double>(k * 7 % 31) - 12);
  }
  return cells;
}

// The windows along an axis of `size` cells, by the formulas of PyTorch's
// pooling_output_shape, and of TensorFlow's "same".
struct AxisWindows {
  AxisWindows(const WindowOptions& windows, Padding::Ends ends, int64_t cells)
      : size(cells), before(ends.before), after(ends.after) {
    const int64_t span = windows.dilation * (windows.kernel - 1) + 1;
    if (windows.padding.same) {
      count = (size + windows.stride - 1) / windows.stride;
      const int64_t all =
          std::max<int64_t>(0, (count - 1) * windows.stride + span - size);
      before = all / 2;
      after = all - before;
      return;
    }
    int64_t room = size + before + after - span;
    if (windows.ceil) room += windows.stride - 1;
    count = room < 0 ? 0 : room / windows.stride + 1;
    if (windows.ceil && (count - 1) * windows.stride >= size + before) --count;
  }

  int64_t size, before, after, count;
};

struct Image {
  int64_t height, width;
  std::vector<double> cells = {};
};

// Calls visit(at, y, x) for each cell of each window, which may lie outside.
void ForEachCell(const WindowOptions& windows, const AxisWindows& rows,
                 const AxisWindows& columns,
                 const std::function<void(int64_t at, int64_t cell, int64_t y,
                                          int64_t x)>& visit) {
  for (int64_t at = 0; at < rows.count * columns.count; ++at) {
    for (int64_t cell = 0; cell < windows.kernel * windows.kernel; ++cell) {
      visit(at, cell,
            windows.stride * (at / columns.count) - rows.before +
                windows.dilation * (cell / windows.kernel),
            windows.stride * (at % columns.count) - columns.before +
                windows.dilation * (cell % windows.kernel));
    }
  }
}

struct Pooled {
  std::vector<double> greatest, means, correlation;
};

Pooled PooledByLoops(const WindowOptions& windows, const Image& image) {
  const AxisWindows rows(windows, windows.padding.height, image.height);
  const AxisWindows columns(windows, windows.padding.width, image.width);
  const int64_t size = rows.count * columns.count;
  Pooled pooled;
  pooled.greatest.assign(size, -std::numeric_limits<double>::infinity());
  pooled.means.assign(size, 0);
  std::vector<double> counts(size);
  pooled.correlation.assign(size, 0);
  ForEachCell(windows, rows, columns,
              [&](int64_t at, int64_t cell, int64_t y, int64_t x) {
                const bool in_image =
                    y >= 0 && y < rows.size && x >= 0 && x < columns.size;
                const bool in_padding = y < rows.size + rows.after &&
                                        x < columns.size + columns.after;
                if (in_image || (windows.count_padding && in_padding)) {
                  ++counts[at];
                }
                if (!in_image) return;
                const double value = image.cells[y * columns.size + x];
                pooled.greatest[at] = std::max(pooled.greatest[at], value);
                pooled.means[at] += value;
                pooled.correlation[at] += value * static_cast<double>(cell);
              });
  for (int64_t at = 0; at < size; ++at) pooled.means[at] /= counts[at];
  return pooled;
}

void ExpectNear(const std::vector<float>& is, const std::vector<double>& want,
                const std::string& what) {
  ASSERT_EQ(is.size(), want.size()) << what;
  for (size_t k = 0; k < is.size(); ++k) {
    if (is[k] == want[k]) continue;  // infinities
    EXPECT_NEAR(is[k], want[k], 1e-5) << what << ", cell " << k;
  }
}

int64_t Below(int64_t most, std::mt19937& random) {
  return static_cast<int64_t>(random() % most);
}

WindowOptions RandomWindows(std::mt19937& random) {
  WindowOptions windows{.kernel = Below(4, random) + 1};
  windows.stride = Below(3, random) + 1;
  windows.dilation = Below(3, random) == 0 ? 2 : 1;
  const int64_t span = windows.dilation * (windows.kernel - 1) + 1;
  for (int64_t* cells :
       {&windows.padding.height.before, &windows.padding.height.after,
        &windows.padding.width.before, &windows.padding.width.after}) {
    *cells = Below(std::min<int64_t>(span, 3), random);
  }
  windows.padding.same = Below(4, random) == 0;
  windows.ceil = Below(2, random) == 0;
  windows.count_padding = Below(2, random) == 0;
  return windows;
}

std::string Text(const WindowOptions& windows) {
  const auto& [same, height, width] = windows.padding;
  return absl::StrCat(" kernel ", windows.kernel, " stride ", windows.stride,
                      " dilation ", windows.dilation, " padding ",
                      height.before, ",", height.after, ",", width.before, ",",
                      width.after, " same ", same, " ceil ", windows.ceil,
                      " count ", windows.count_padding);
}

TEST(WindowsTest, AsLoopsOverCells) {
  std::mt19937 random(49);
  int tried = 0;
  while (tried < 120) {
    const WindowOptions windows = RandomWindows(random);
    Image image = {.height = Below(6, random) + 1, .width = 1};
    image.width += Below(6, random);
    image.cells = Cells(image.height * image.width);
    const Dims dims = {image.height, image.width, 1};
    const Pooled want = PooledByLoops(windows, image);
    const std::string what =
        absl::StrCat(image.height, "x", image.width, Text(windows));
    if (want.means.empty()) {
      EXPECT_THAT(ShapesOf({}, dims, MaxPool(windows)),
                  HasSubstr("wrong number of windows"))
          << what;
      continue;
    }
    // Of windows without a cell the mean is that of none.
    if (std::any_of(want.means.begin(), want.means.end(),
                    [](double mean) { return std::isnan(mean); })) {
      continue;
    }
    ++tried;
    const BlockInputs inputs = {.x = image.cells};
    ExpectNear(ValuesOf({}, dims, inputs, MaxPool(windows)), want.greatest,
               "greatest of " + what);
    ExpectNear(ValuesOf({}, dims, inputs, AvgPool(windows)), want.means,
               "mean of " + what);
    if (windows.ceil) continue;
    const Conv2dOptions conv{.channels = 1,
                             .kernel = windows.kernel,
                             .stride = windows.stride,
                             .dilation = windows.dilation,
                             .padding = windows.padding};
    std::vector<double> w;
    for (int64_t k = 0; k < windows.kernel * windows.kernel; ++k) {
      w.push_back(static_cast<double>(k));
    }
    ExpectNear(ValuesOf({}, dims, {.x = image.cells, .given = {{"w", w}}},
                        [&](const ParamScope& scope, Tensor x) {
                          return Conv2d(scope, conv)(x);
                        }),
               want.correlation, "convolution of " + what);
  }
}

// The window has the cells -1 and 1 of an image of cell 0.
TEST(WindowsTest, AWindowAroundTheImage) {
  WindowOptions around{.kernel = 2, .dilation = 2, .padding = 1};
  const BlockInputs inputs = {.x = {5}};
  EXPECT_THAT(ValuesOf({}, {1, 1, 1}, inputs, MaxPool(around)),
              ElementsAre(-std::numeric_limits<float>::infinity()));
  EXPECT_THAT(ValuesOf({}, {1, 1, 1}, inputs, AvgPool(around)), ElementsAre(0));
  around.count_padding = false;
  EXPECT_THAT(ValuesOf({}, {1, 1, 1}, inputs, AvgPool(around)),
              ElementsAre(IsNan()));
}

// A default that reaches left would never see the last row and column.
TEST(WindowsTest, PoolsHaveNoPadding) {
  EXPECT_THAT(
      ValuesOf({}, {4, 4, 1},
               {.x = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}},
               MaxPool({.kernel = 2, .stride = 2})),
      ElementsAre(5, 7, 13, 15));
  EXPECT_THAT(ValuesOf({}, {3, 3, 1}, {.x = {0, 1, 2, 3, 4, 5, 6, 7, 8}},
                       MaxPool({.kernel = 2, .stride = 2})),
              ElementsAre(4));
  EXPECT_THAT(ValuesOf({}, {3, 3, 1}, {.x = {0, 1, 2, 3, 4, 5, 6, 7, 8}},
                       AvgPool({.kernel = 2, .stride = 2, .ceil = true})),
              ElementsAre(2, 3.5, 6.5, 8));
}

TEST(WindowsTest, ShapesOfPyTorch) {
  auto conv = [](const Conv2dOptions& options) {
    return [=](const ParamScope& scope, Tensor x) {
      return Conv2d(scope, options)(x);
    };
  };
  EXPECT_EQ(
      ShapesOf({2}, {8, 6, 3},
               conv({.channels = 4, .kernel = 4, .stride = 2, .padding = 1})),
      "w:4,4,3->4 b:4 => 2|4,3,4");
  // The first layers of ResNet for images of 224 x 224.
  EXPECT_EQ(
      ShapesOf({1}, {224, 224, 3},
               conv({.channels = 64, .kernel = 7, .stride = 2, .padding = 3})),
      "w:7,7,3->64 b:64 => 1|112,112,64");
  EXPECT_EQ(ShapesOf({1}, {112, 112, 64},
                     MaxPool({.kernel = 3, .stride = 2, .padding = 1})),
            "=> 1|56,56,64");
  EXPECT_EQ(ShapesOf({1}, {7, 7, 3},
                     conv({.channels = 4, .stride = 2, .padding = {1, 0}})),
            "w:3,3,3->4 b:4 => 1|4,3,4");
}

TEST(WindowsTest, WhatDoesNotFit) {
  EXPECT_THAT(ShapesOf({2}, {2, 5, 1}, MaxPool({.kernel = 3})),
              HasSubstr("`kh` is 3, which no size of `oh` fits"));
  EXPECT_THAT(ShapesOf({2}, {2, 5, 1}, MaxPool({.kernel = 3, .stride = 2})),
              HasSubstr("hint: make the axis 3 or longer"));
  EXPECT_THAT(
      ShapesOf({2}, {4, 4, 1}, MaxPool({.kernel = 2, .padding = 2})),
      HasSubstr("is 2; it must be smaller than the window, which spans 2"));
  EXPECT_THAT(ShapesOf({2}, {4, 4, 1}, AvgPool({.kernel = 2, .padding = -1})),
              HasSubstr("`top` is -1, not a whole number from 0 to 65536"));
  EXPECT_THAT(ShapesOf({2}, {4, 4, 1}, AvgPool({.kernel = 0})),
              HasSubstr("cannot have 0 cells"));
}

TEST(WindowsTest, NarrowFloats) {
  const WindowOptions windows{.kernel = 3, .stride = 2, .padding = 1};
  for (DType dtype : kDTypes) {
    if (!IsNarrow(dtype)) continue;
    auto narrow = [&](const ApplyBlock& block) {
      return [=](const ParamScope& scope, Tensor x) {
        return Convert(block(scope, Convert(x, dtype)), *scope.dtype);
      };
    };
    // Outside is less than all that the dtype has, even without an infinity.
    EXPECT_THAT(
        ValuesOf({}, {3, 3, 1}, {.x = {-9, -8, -7, -6, -5, -4, 1, 2, 3}},
                 narrow(MaxPool(windows))),
        ElementsAre(-5, -4, 2, 3))
        << Name(dtype);
    ExpectSameBits({2}, {5, 6, 3}, narrow(MaxPool(windows)));
    ExpectSameBits({2}, {5, 6, 3}, narrow(AvgPool(windows)));
    // Sums and numbers of cells may be more than the dtype holds.
    EXPECT_THAT(
        ValuesOf({}, {300, 300, 1}, {.x = std::vector<double>(90000, 1)},
                 narrow(AvgPool({.kernel = 300}))),
        ElementsAre(1))
        << Name(dtype);
    EXPECT_THAT(
        ValuesOf({}, {31, 31, 1}, {.x = std::vector<double>(961, 1)},
                 narrow(AvgPool(
                     {.kernel = 31, .padding = 1, .count_padding = false}))),
        Each(1))
        << Name(dtype);
  }
}

// Cells that no window reaches have a gradient of 0, and the padding has none.
TEST(WindowsTest, GradientBits) {
  for (const WindowOptions& windows :
       {WindowOptions{.kernel = 2, .stride = 2},
        WindowOptions{.kernel = 2, .stride = 3},
        WindowOptions{.kernel = 3, .stride = 2, .padding = 1},
        WindowOptions{.kernel = 3, .stride = 2, .padding = Padding::kSame},
        WindowOptions{.kernel = 2,
        .stride = 2,
        .dilation = 2,
        .padding = {{0, 2}, {1, 0}}},
        WindowOptions{.kernel = 3,
        .stride = 2,
        .padding = 1,
        .ceil = true,
        .count_padding = false}}) {
    ExpectGradient({2}, {5, 4, 2}, MaxPool(windows));
    ExpectGradient({2}, {5, 4, 2}, AvgPool(windows));
    ExpectSameBits({2}, {5, 6, 5}, MaxPool(windows));
    ExpectSameBits({2}, {5, 6, 5}, AvgPool(windows));
    const Conv2dOptions conv{.channels = 3,
                             .kernel = windows.kernel,
                             .stride = windows.stride,
                             .dilation = windows.dilation,
                             .padding = windows.padding};
    auto apply = [&](const ParamScope& scope, Tensor x) {
      return Conv2d(scope, conv)(x);
    };
    ExpectGradient({1}, {5, 4, 2}, apply);
    ExpectSameBits({2}, {5, 6, 5}, apply);
  }
}

}  // namespace
}  // namespace ocannl
