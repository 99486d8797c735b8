// SPDX-License-Identifier: Apache-2.0
//
// Labelled points of the plane: two interleaving half-moons made from a seed,
// or points read from a file.
//
//   OCANNL_ASSIGN_OR_RETURN(LabelledPoints points, HalfMoons(400, /*seed=*/1));
//   OCANNL_ASSIGN_OR_RETURN(const int64_t dropped,
//                           DropPartialBatch(/*batch_size=*/10, points));
//
// The noise of a coordinate is in (-3 noise_range, noise_range): lopsided, as
// that of the source documents' generator is.

#ifndef EXPERIMENTS_MOONS_DATA_H_
#define EXPERIMENTS_MOONS_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "ocannl/core/base/dtype.h"
#include "ocannl/core/base/ndarray.h"

namespace ocannl {

struct LabelledPoints {
  std::vector<float> coordinates;  // x, y of each point: twice as many.
  std::vector<float> labels;       // 1 or -1.
};

// Two noisy half circles of `points_per_moon` points each, alternating: point
// 2i lies on the upper moon and has label 1, point 2i+1 on the lower one and
// has label -1. Coordinates are computed in double and rounded to float, which
// makes the bits of the standard sets (400 points, seeds 1, 2 and 3) the same
// with every compiler and C library. Errors: no points; the one seed, 2^32-1,
// that the generator cannot start from; noise that is negative or not finite.
constexpr double kNoiseRange = 0.1;
absl::StatusOr<LabelledPoints> HalfMoons(int points_per_moon, uint32_t seed,
                                         double noise_range = kNoiseRange);

// The same as arrays of `kind`, [2n, 2] and [2n, 1], of coordinates that are
// rounded once: the source documents' generate_with_kind. Errors: also a kind
// that is not a float.
//
//   OCANNL_ASSIGN_OR_RETURN(PointArrays moons,
//                           HalfMoonsOfKind(DType::kF64, 400, 1, 0.2));
struct PointArrays {
  NdArray coordinates, labels;
};
absl::StatusOr<PointArrays> HalfMoonsOfKind(DType kind, int points_per_moon,
                                            uint32_t seed,
                                            double noise_range = kNoiseRange);

// Likewise, two circles of radius 1.5 and 0.5 around one centre, and two
// spirals of one and a half turns, one inside of the other.
absl::StatusOr<LabelledPoints> Circles(int points_each, uint32_t seed,
                                       double noise_range = kNoiseRange);
absl::StatusOr<LabelledPoints> Spirals(int points_each, uint32_t seed,
                                       double noise_range = kNoiseRange);

// Reads lines "x,y,label" of a text file. Blank lines and lines that start with
// '#' are skipped; the first line may be a header. Errors: an unreadable file,
// a file without points, and bad rows, named by file and line.
absl::StatusOr<LabelledPoints> LoadPoints(const std::string& path);

// Takes an [n, 3] array with x, y, label in each row, as read from a file of
// another format; `name` stands for the array in errors, which are those of
// LoadPoints with rows counted from 0.
absl::StatusOr<LabelledPoints> PointsFromRows(absl::Span<const float> rows,
                                              absl::string_view name);

// The points that --data names: "" (half-moons), "circles", "spirals", of
// `count` points each, with noise; or those of a file with rows of x, y and
// label, .npy or text.
bool IsPointsFile(absl::string_view data);
absl::StatusOr<LabelledPoints> FindPoints(const std::string& data, int count,
                                          uint32_t seed, double noise_range);

// Shortens `points` to whole batches and returns how many points that dropped.
// Errors: a batch size below 1, and fewer points than one batch.
absl::StatusOr<int64_t> DropPartialBatch(int64_t batch_size,
                                         LabelledPoints& points);

}  // namespace ocannl

#endif  // EXPERIMENTS_MOONS_DATA_H_
