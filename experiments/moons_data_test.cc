// SPDX-License-Identifier: Apache-2.0

#include "experiments/moons_data.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An independent generator: 64-bit state arithmetic, no shared code.
struct Oracle {
  int64_t state;

  int64_t Remainder() {
    state = (state ^ (state * 8192)) % (int64_t{1} << 32);
    state ^= state / 131072;
    state = (state ^ (state * 32)) % (int64_t{1} << 32);
    const int64_t value =
        state >= (int64_t{1} << 31) ? state - (int64_t{1} << 32) : state;
    return value < 0 ? -(-value % 10000) : value % 10000;
  }
};

// FNV-1a over the bits.
uint64_t Digest(const std::vector<float>& values) {
  uint64_t digest = 14695981039346656037u;
  for (const float value : values) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    for (int byte = 0; byte < 4; ++byte) {
      digest = (digest ^ (bits >> (8 * byte) & 255)) * 1099511628211u;
    }
  }
  return digest;
}

TEST(HalfMoonsTest, HasGoldenBits) {
  const LabelledPoints points = HalfMoons(400, 1).value();
  ASSERT_EQ(points.coordinates.size(), 1600);
  ASSERT_EQ(points.labels.size(), 800);
  EXPECT_THAT(
      std::vector<float>(points.coordinates.begin(),
                         points.coordinates.begin() + 8),
      ElementsAre(0.914759994f, -0.0285999998f, -0.169220001f, 0.557940006f,
                  0.955049157f, -0.0277060997f, -0.294009149f, 0.563526094f));
  EXPECT_EQ(Digest(HalfMoons(400, 1)->coordinates), 0x422a7fec5e7fa87u);
  EXPECT_EQ(Digest(HalfMoons(400, 2)->coordinates), 0x5c28cb0b0e1c52a2u);
  EXPECT_EQ(Digest(HalfMoons(400, 3)->coordinates), 0xee4ae3114827b3b1u);
}

TEST(HalfMoonsTest, GeneratorStartsAsComputedByHand) {
  // State 2: 2^14 + 2; the shift by 17 adds nothing; then the shift by 5.
  EXPECT_EQ(Oracle{2}.Remainder(), (16386 ^ (16386 * 32)) % 10000);
  const double noise = -0.1 + 0.2 * ((16386 ^ (16386 * 32)) % 10000) / 1e4;
  EXPECT_FLOAT_EQ(HalfMoons(1, 1)->coordinates[0], 1 + noise);
}

TEST(HalfMoonsTest, LabelsAlternate) {
  const LabelledPoints points = HalfMoons(400, 7).value();
  for (size_t i = 0; i < points.labels.size(); ++i) {
    ASSERT_EQ(points.labels[i], i % 2 == 0 ? 1 : -1) << i;
  }
}

// The values of the oracle come from sines and cosines of 64 bits, once as they
// are and once moved by the error that a C library may have: all give the
// same floats, so the bits do not depend on the library.
TEST(HalfMoonsTest, BitsDoNotDependOnTheLibraryOfFunctions) {
  for (const int64_t seed : {1, 2, 3}) {
    const LabelledPoints points =
        HalfMoons(400, static_cast<uint32_t>(seed)).value();
    Oracle oracle{seed + 1};
    double lowest = 1, highest = -1;
    for (int moon = 0; moon < 2; ++moon) {
      for (int i = 0; i < 400; ++i) {
        const double angle = i * 3.141592653589793 / 400;
        const long double cosine = std::cos(static_cast<long double>(angle));
        const long double sine = std::sin(static_cast<long double>(angle));
        const long double exact[2] = {moon == 0 ? cosine : 1 - cosine,
                                      moon == 0 ? sine : 0.5L - sine};
        for (int axis = 0; axis < 2; ++axis) {
          const double noise =
              -0.1 + 0.2 * (static_cast<double>(oracle.Remainder()) / 10000);
          lowest = std::min(lowest, noise);
          highest = std::max(highest, noise);
          const float got = points.coordinates[2 * (2 * i + moon) + axis];
          for (const double error : {-0x1p-51, 0.0, 0x1p-51}) {
            const double moved = static_cast<double>(exact[axis]) + error;
            ASSERT_EQ(got, static_cast<float>(moved + noise))
                << "seed " << seed << " moon " << moon << " point " << i
                << " axis " << axis << " error " << error;
          }
        }
      }
    }
    EXPECT_GT(lowest, -0.3);
    EXPECT_LT(lowest, -0.29);
    EXPECT_LT(highest, 0.1);
    EXPECT_GT(highest, 0.09);
  }
}

// A coordinate without noise, and the range that noise is times.
TEST(HalfMoonsTest, KindsAndNoise) {
  const LabelledPoints floats = HalfMoons(50, 3, 0.25).value();
  const PointArrays f32 = HalfMoonsOfKind(DType::kF32, 50, 3, 0.25).value();
  EXPECT_EQ(f32.coordinates.dims(), (Dims{100, 2}));
  EXPECT_EQ(f32.labels.dims(), (Dims{100, 1}));
  EXPECT_THAT(f32.coordinates.values<float>(),
              testing::ElementsAreArray(floats.coordinates));
  EXPECT_THAT(f32.labels.values<float>(),
              testing::ElementsAreArray(floats.labels));
  const PointArrays exact = HalfMoonsOfKind(DType::kF64, 50, 3, 0).value();
  const PointArrays noisy = HalfMoonsOfKind(DType::kF64, 50, 3, 0.5).value();
  const PointArrays narrow = HalfMoonsOfKind(DType::kF16, 50, 3, 0.5).value();
  Oracle oracle{3 + 1};
  for (int moon = 0; moon < 2; ++moon) {
    for (int i = 0; i < 50; ++i) {
      const double angle = i * 3.141592653589793 / 50;
      const double x = moon == 0 ? std::cos(angle) : 1 - std::cos(angle);
      const double y = moon == 0 ? std::sin(angle) : 0.5 - std::sin(angle);
      for (int axis = 0; axis < 2; ++axis) {
        const int at = 2 * (2 * i + moon) + axis;
        const double without = axis == 0 ? x : y;
        EXPECT_DOUBLE_EQ(exact.coordinates.AsDouble(at), without);
        const double noise =
            -0.5 + static_cast<double>(oracle.Remainder()) / 10000;
        EXPECT_DOUBLE_EQ(noisy.coordinates.AsDouble(at), without + noise);
        EXPECT_NEAR(narrow.coordinates.AsDouble(at), without + noise, 2e-3);
      }
      EXPECT_EQ(noisy.labels.AsDouble(2 * i + moon), moon == 0 ? 1 : -1);
    }
  }
  EXPECT_EQ(HalfMoonsOfKind(DType::kI32, 50, 3).status().message(),
            "half-moons of kind i32; write a float, such as f32 or f64");
  for (const double noise : {-0.5, HUGE_VAL, double{NAN}}) {
    EXPECT_THAT(HalfMoons(50, 3, noise).status().message(),
                HasSubstr("; write a number that is finite and not negative"));
  }
}

TEST(CurvesTest, CirclesAndSpirals) {
  const LabelledPoints circles = *Circles(50, 1);
  int first = 0;
  for (int i = 0; i < 100; ++i) {
    // The noise is in (-0.3, 0.1).
    const double x = circles.coordinates[2 * i] + 0.1;
    const double y = circles.coordinates[2 * i + 1] + 0.1;
    EXPECT_NEAR(std::hypot(x, y), circles.labels[i] > 0 ? 1.5 : 0.5,
                0.2 * std::sqrt(2));
    first += circles.labels[i] > 0;
  }
  EXPECT_EQ(first, 50);
  const LabelledPoints spirals = *Spirals(50, 1);
  for (int i = 0; i < 100; ++i) {
    const double x = spirals.coordinates[2 * i] + 0.1;
    const double y = spirals.coordinates[2 * i + 1] + 0.1;
    EXPECT_GT(std::hypot(x, y), 0.2);
    EXPECT_LT(std::hypot(x, y), 3.3);
  }
  EXPECT_NE(spirals.coordinates, Spirals(50, 2)->coordinates);
  EXPECT_FALSE(Circles(0, 1).ok());
  EXPECT_FALSE(Spirals(1, UINT32_MAX).ok());
}

TEST(HalfMoonsTest, RefusesWhatItCannotMake) {
  EXPECT_EQ(HalfMoons(0, 1).status().message(),
            "half-moons of 0 points each; write a number of at least 1");
  EXPECT_THAT(HalfMoons(400, 4294967295u).status().message(),
              HasSubstr("seed 4294967295"));
  EXPECT_TRUE(HalfMoons(1, 4294967294u).ok());
}

class LoadPointsTest : public ::testing::Test {
 protected:
  absl::StatusOr<LabelledPoints> Load(absl::string_view text) {
    std::ofstream file(path_, std::ios::binary);
    file << std::string(text);
    file.close();
    return LoadPoints(path_);
  }

  // The message without the path, or "" if there is no error.
  std::string Error(absl::string_view text) {
    const absl::Status status = Load(text).status();
    if (status.ok()) return "";
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string message(status.message());
    EXPECT_EQ(message.substr(0, path_.size()), path_);
    return message.substr(path_.size());
  }

  const std::string path_ = absl::StrCat(::testing::TempDir(), "/points.csv");
};

TEST_F(LoadPointsTest, ReadsRowsHeaderBlankLinesAndComments) {
  const LabelledPoints points =
      Load(
          "\xEF\xBB\xBF# two points\r\n\r\nx, y, label\r\n"
          " 0.5 , -1.25e1,1\r\n\n# the other class\n3,+4,-1.0")
          .value();
  EXPECT_THAT(points.coordinates, ElementsAre(0.5f, -12.5f, 3.0f, 4.0f));
  EXPECT_THAT(points.labels, ElementsAre(1.0f, -1.0f));
}

TEST_F(LoadPointsTest, NeedsNoHeader) {
  EXPECT_THAT(Load("0.1,0.2,-1\n")->coordinates, ElementsAre(0.1f, 0.2f));
}

TEST_F(LoadPointsTest, NamesFileLineAndValueOfBadRows) {
  EXPECT_EQ(Error("1,2,1\n1,2\n"),
            ":2: \"1,2\"; write three numbers \"x,y,label\", such as "
            "\"0.5,-0.25,1\"");
  EXPECT_THAT(Error("1,2,1,\n"), HasSubstr(":1: \"1,2,1,\"; write three"));
  EXPECT_THAT(Error("1,b,1\n"), HasSubstr(":1: \"1,b,1\""));
  EXPECT_THAT(Error("x,y,label\nx,y,label\n"), HasSubstr(":2: \"x,y,label\""));
  EXPECT_THAT(Error("1,2,1\nx,y,label\n"), HasSubstr(":2: \"x,y,label\""));
  EXPECT_THAT(Error("\x93NUMPY"), HasSubstr(":1: \"\\x93NUMPY\""));
  EXPECT_EQ(Error("# c\n1,2,0\n"), ":2: label 0; write 1 or -1 for the class");
  EXPECT_THAT(Error("1,2,0.9999999\n"), HasSubstr(":1: label 0.9999999;"));
  EXPECT_THAT(Error("1,2,nan\n"), HasSubstr(":1: label nan;"));
  EXPECT_EQ(Error("1,nan,1\n"),
            ":1: point (1, nan); write coordinates that are finite floats");
  EXPECT_THAT(Error("1,2,1\n-inf,2,1\n"), HasSubstr(":2: point (-inf, 2)"));
  EXPECT_THAT(Error("1e39,2,1\n"), HasSubstr(":1: point (inf, 2)"));
  EXPECT_THAT(Error(""), HasSubstr(": no points;"));
  EXPECT_THAT(Error("x,y,label\n"), HasSubstr(": no points;"));
}

TEST_F(LoadPointsTest, NamesUnreadableFiles) {
  const absl::Status missing = LoadPoints("/nowhere/points.csv").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(missing.message(),
              AllOf(HasSubstr("cannot open /nowhere/points.csv"),
                    HasSubstr("No such file")));
  EXPECT_THAT(LoadPoints("/").status().message(),
              AllOf(HasSubstr("cannot read /"), HasSubstr("directory")));
}

TEST(PointsFromRowsTest, TakesThreeColumns) {
  const LabelledPoints points =
      PointsFromRows({1, 2, -1, 3, 4, 1}, "a.npy").value();
  EXPECT_THAT(points.coordinates, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(points.labels, ElementsAre(-1, 1));
}

TEST(PointsFromRowsTest, NamesArrayAndRow) {
  EXPECT_EQ(PointsFromRows({1, 2, -1, 3}, "a.npy").status().message(),
            "a.npy: 4 numbers; write rows of three: x, y, label");
  EXPECT_FALSE(PointsFromRows({}, "a.npy").ok());
  EXPECT_EQ(PointsFromRows({1, 2, 1, 3, 4, 2}, "a.npy").status().message(),
            "a.npy row 1: label 2; write 1 or -1 for the class");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(PointsFromRows({nan, 2, 1}, "a.npy").status().message(),
              HasSubstr("a.npy row 0: point (nan, 2)"));
}

TEST(DropPartialBatchTest, KeepsWholeBatchesAndTellsTheRest) {
  LabelledPoints points{.coordinates = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
                        .labels = {1, -1, 1, -1, 1}};
  EXPECT_EQ(DropPartialBatch(2, points).value(), 1);
  EXPECT_THAT(points.coordinates, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(points.labels, ElementsAre(1, -1, 1, -1));
  EXPECT_EQ(DropPartialBatch(4, points).value(), 0);
  EXPECT_EQ(points.labels.size(), 4);
}

TEST(DropPartialBatchTest, RefusesSizesWithoutAWholeBatch) {
  LabelledPoints points{.coordinates = {1, 2}, .labels = {1}};
  EXPECT_EQ(DropPartialBatch(2, points).status().message(),
            "batch size 2 for 1 points; write a number from 1 to 1");
  EXPECT_FALSE(DropPartialBatch(0, points).ok());
  EXPECT_EQ(points.labels.size(), 1);
}

}  // namespace
}  // namespace ocannl
