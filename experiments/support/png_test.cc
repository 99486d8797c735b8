// SPDX-License-Identifier: Apache-2.0
#include "experiments/support/png.h"

#include "experiments/support/svg_plot.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/check.h"

namespace ocannl {
namespace {

// Big-endian.
int NumberAt(const std::string& bytes, size_t at) {
  int number = 0;
  for (size_t k = at; k < at + 4; ++k) {
    number = number * 256 + static_cast<unsigned char>(bytes[k]);
  }
  return number;
}

TEST(PngTest, APlotIsAPicture) {
  auto png = PngOf(SvgLinePlot({"Loss", "step", "loss", {3, 1, 2}}), 360, 220);
  CHECK_OK(png);
  EXPECT_THAT(*png, testing::StartsWith("\x89PNG\r\n\x1a\n"));
  EXPECT_EQ(NumberAt(*png, 16), 360);
  EXPECT_EQ(NumberAt(*png, 20), 220);
  auto other =
      PngOf(SvgLinePlot({"Loss", "step", "loss", {3, 1, 1}}), 360, 220);
  CHECK_OK(other);
  EXPECT_NE(*png, *other);
}

TEST(PngTest, WhatIsNoSvgIsAnError) {
  EXPECT_EQ(PngOf("no picture", 1, 1).status().message(),
            "librsvg cannot read the picture");
}

}  // namespace
}  // namespace ocannl
