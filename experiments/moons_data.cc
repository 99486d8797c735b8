// SPDX-License-Identifier: Apache-2.0
//
// Bits of the half-moons: sines and cosines come from the C library in double
// and each coordinate is rounded to float once, at the end. C libraries, and
// compilers that fold constants, differ in the last bits of a double only; the
// test shows that no coordinate of the standard data sets is near enough to a
// rounding boundary to notice.

#include "experiments/moons_data.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/command_line.h"
#include "ocannl/core/base/file.h"
#include "ocannl/core/base/narrow_float.h"
#include "ocannl/core/base/number_text.h"
#include "ocannl/core/base/status_macros.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/runtime/npy.h"
#include "ocannl/train/data/batch_order.h"
#include "ocannl/train/data/files.h"

namespace ocannl {
namespace {

// Xorshift with the shifts 13, 17, 5 on 32 bits. The remainder is that of the
// signed state and takes its sign, so that r lies in [-9999, 9999] and
//   noise = -range + (r / 10000) * (range - -range)
// in (-3 range, range): lopsided, and kept so, because published losses depend
// on it.
class Noise {
 public:
  Noise(uint32_t seed, double range) : state_(seed + 1), range_(range) {}

  double Next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    const int32_t remainder = static_cast<int32_t>(state_) % 10000;
    return -range_ + remainder / 10000.0 * (2 * range_);
  }

 private:
  uint32_t state_;
  double range_;
};

// Coordinates before they are rounded.
struct ExactPoints {
  std::vector<double> coordinates;
  std::vector<float> labels;
};

constexpr size_t kRowSize = 3;

}  // namespace

// Points of two curves, alternating, of which all of the first draw their noise
// before those of the second. `curve` gives point i of `n`.
static absl::StatusOr<ExactPoints> NoisyCurves(
    absl::string_view name, int points_each, uint32_t seed, double noise_range,
    absl::FunctionRef<std::pair<double, double>(bool second, int64_t i, int n)>
        curve) {
  if (points_each < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " of ", points_each,
                     " points each; write a number of at least 1"));
  }
  if (seed == UINT32_MAX) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " seed ", seed,
                     " gives a generator without randomness; write another "
                     "seed"));
  }
  if (!(noise_range >= 0) || !std::isfinite(noise_range)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " with noise ", NumberText(noise_range),
                     "; write a number that is finite and not negative"));
  }
  const size_t size = 2 * static_cast<size_t>(points_each);
  ExactPoints points{.coordinates = std::vector<double>(2 * size),
                     .labels = std::vector<float>(size)};
  Noise noise(seed, noise_range);
  for (bool second : {false, true}) {
    for (int64_t i = 0; i < points_each; ++i) {
      const auto [x, y] = curve(second, i, points_each);
      const size_t index = 2 * i + (second ? 1 : 0);
      points.coordinates[2 * index] = x + noise.Next();
      points.coordinates[2 * index + 1] = y + noise.Next();
      points.labels[index] = second ? -1 : 1;
    }
  }
  return points;
}

static absl::StatusOr<ExactPoints> ExactHalfMoons(int points_per_moon,
                                                  uint32_t seed,
                                                  double noise_range) {
  return NoisyCurves(
      "half-moons", points_per_moon, seed, noise_range,
      [](bool second, int64_t i, int n) {
        const double angle = i * std::numbers::pi / n;
        return second ? std::pair(1 - std::cos(angle), 0.5 - std::sin(angle))
                      : std::pair(std::cos(angle), std::sin(angle));
      });
}

absl::StatusOr<LabelledPoints> HalfMoons(int points_per_moon, uint32_t seed,
                                         double noise_range) {
  OCANNL_ASSIGN_OR_RETURN(ExactPoints points,
                          ExactHalfMoons(points_per_moon, seed, noise_range));
  return LabelledPoints{
      .coordinates = {points.coordinates.begin(), points.coordinates.end()},
      .labels = std::move(points.labels)};
}

absl::StatusOr<PointArrays> HalfMoonsOfKind(DType kind, int points_per_moon,
                                            uint32_t seed, double noise_range) {
  if (!IsFloat(ComputeDType(kind))) {
    return absl::InvalidArgumentError(
        absl::StrCat("half-moons of kind ", Name(kind),
                     "; write a float, such as f32 or f64"));
  }
  OCANNL_ASSIGN_OR_RETURN(const ExactPoints points,
                          ExactHalfMoons(points_per_moon, seed, noise_range));
  const auto size = static_cast<int64_t>(points.labels.size());
  PointArrays arrays{.coordinates = NdArray(kind, {size, 2}),
                     .labels = NdArray(kind, {size, 1})};
  auto fill = [](const auto& from, NdArray& to) {
    VisitDType(to.dtype(), [&](auto zero) {
      using T = decltype(zero);
      if constexpr (number::Float<T> || kIsNarrow<T>) {
        for (size_t k = 0; k < from.size(); ++k) {
          to.values<T>()[k] = number::Convert<T>(double{from[k]});
        }
      }
    });
  };
  fill(points.coordinates, arrays.coordinates);
  fill(points.labels, arrays.labels);
  return arrays;
}

// In an order in which neighbours do not come one after the other.
static absl::StatusOr<LabelledPoints> Shuffled(
    const absl::StatusOr<ExactPoints>& points, uint32_t seed) {
  OCANNL_RETURN_IF_ERROR(points.status());
  LabelledPoints shuffled;
  for (int32_t k : train::ShuffledOrder(
           static_cast<int64_t>(points->labels.size()), seed)) {
    for (int axis : {0, 1}) {
      shuffled.coordinates.push_back(
          static_cast<float>(points->coordinates[2 * k + axis]));
    }
    shuffled.labels.push_back(points->labels[k]);
  }
  return shuffled;
}

absl::StatusOr<LabelledPoints> Circles(int points_each, uint32_t seed,
                                       double noise_range) {
  return Shuffled(NoisyCurves("circles", points_each, seed, noise_range,
                              [](bool second, int64_t i, int n) {
                                const double angle =
                                    2 * i * std::numbers::pi / n;
                                const double radius = second ? 0.5 : 1.5;
                                return std::pair(radius * std::cos(angle),
                                                 radius * std::sin(angle));
                              }),
                  seed);
}

absl::StatusOr<LabelledPoints> Spirals(int points_each, uint32_t seed,
                                       double noise_range) {
  return Shuffled(NoisyCurves("spirals", points_each, seed, noise_range,
                              [](bool second, int64_t i, int n) {
                                const double part = static_cast<double>(i) / n;
                                const double angle =
                                    (3 * part + (second ? 1 : 0)) *
                                    std::numbers::pi;
                                const double radius = 0.5 + 2.5 * part;
                                return std::pair(radius * std::cos(angle),
                                                 radius * std::sin(angle));
                              }),
                  seed);
}

// `row` is x, y, label; `place` says where it stands.
static absl::Status AppendPoint(absl::Span<const float> row,
                                absl::string_view place,
                                LabelledPoints& points) {
  if (!std::isfinite(row[0]) || !std::isfinite(row[1])) {
    return absl::InvalidArgumentError(absl::StrCat(
        place, ": point (", NumberText(row[0]), ", ", NumberText(row[1]),
        "); write coordinates that are finite floats"));
  }
  if (row[2] != 1 && row[2] != -1) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, ": label ", NumberText(row[2]),
                     "; write 1 or -1 for the class"));
  }
  points.coordinates.insert(points.coordinates.end(), {row[0], row[1]});
  points.labels.push_back(row[2]);
  return absl::OkStatus();
}

absl::StatusOr<LabelledPoints> LoadPoints(const std::string& path) {
  OCANNL_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  LabelledPoints points;
  auto add = [&](const train::CsvRow& row) -> absl::Status {
    const bool has_three = row.fields == kRowSize;
    if (row.is_first && has_three && row.numbers.empty()) {
      return absl::OkStatus();  // a header
    }
    const std::string place = absl::StrCat(path, ":", row.line_number);
    if (!has_three || row.numbers.size() != kRowSize) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, ": ", train::QuoteRow(row),
          "; write three numbers \"x,y,label\", such as \"0.5,-0.25,1\""));
    }
    return AppendPoint(row.numbers, place, points);
  };
  OCANNL_RETURN_IF_ERROR(train::ForEachCsvRow(text, ',', add));
  if (points.labels.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": no points; write one \"x,y,label\" per line"));
  }
  return points;
}

absl::StatusOr<LabelledPoints> PointsFromRows(absl::Span<const float> rows,
                                              absl::string_view name) {
  if (rows.empty() || rows.size() % kRowSize != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": ", rows.size(), " numbers; write rows of three: x, y, label"));
  }
  LabelledPoints points;
  for (size_t i = 0; i < rows.size(); i += kRowSize) {
    OCANNL_RETURN_IF_ERROR(
        AppendPoint(rows.subspan(i, kRowSize),
                    absl::StrCat(name, " row ", i / kRowSize), points));
  }
  return points;
}

bool IsPointsFile(absl::string_view data) {
  return !data.empty() && data != "circles" && data != "spirals";
}

absl::StatusOr<LabelledPoints> FindPoints(const std::string& data, int count,
                                          uint32_t seed, double noise_range) {
  if (data.empty()) return HalfMoons(count, seed, noise_range);
  if (!IsPointsFile(data)) {
    return data == "circles" ? Circles(count, seed, noise_range)
                             : Spirals(count, seed, noise_range);
  }
  const std::string path = UserPath(data);
  if (!absl::EndsWith(path, ".npy")) return LoadPoints(path);
  OCANNL_ASSIGN_OR_RETURN(const NdArray array, ReadNpy(path));
  if (array.dims().size() != 2 || array.dims()[1] != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("--data: ", path,
                     " must have shape [n, 3]: x, y and a label of 1 or "
                     "-1 in each row"));
  }
  std::vector<float> rows;
  for (int64_t k = 0; k < array.size(); ++k) {
    rows.push_back(static_cast<float>(array.AsDouble(k)));
  }
  return PointsFromRows(rows, path);
}

absl::StatusOr<int64_t> DropPartialBatch(int64_t batch_size,
                                         LabelledPoints& points) {
  const int64_t size = static_cast<int64_t>(points.labels.size());
  if (batch_size < 1 || batch_size > size) {
    return absl::InvalidArgumentError(
        absl::StrCat("batch size ", batch_size, " for ", size,
                     " points; write a number from 1 to ", size));
  }
  const int64_t dropped = size % batch_size;
  points.labels.resize(size - dropped);
  points.coordinates.resize(2 * (size - dropped));
  return dropped;
}

}  // namespace ocannl
