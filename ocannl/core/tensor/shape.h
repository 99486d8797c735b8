// SPDX-License-Identifier: Apache-2.0
//
// Shape: the sizes of a tensor's axes in three rows, written
// batch|input->output.
//
//   "2|3->4" is a batch of 2 matrices from 3 inputs to 4 outputs, stored as
//   dims {2, 4, 3}: batch, then output, then input, row-major.
#ifndef OCANNL_CORE_TENSOR_SHAPE_H_
#define OCANNL_CORE_TENSOR_SHAPE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/base/ndarray.h"
#include "ocannl/core/base/containers/pool.h"

namespace ocannl {

// In memory order.
enum class RowKind : uint8_t { kBatch, kOutput, kInput };
inline constexpr std::array<RowKind, 3> kRowKinds = {
    RowKind::kBatch, RowKind::kOutput, RowKind::kInput};
absl::string_view Name(RowKind kind);  // "batch"

inline constexpr int kMaxAxes = 64;  // of a tensor, as in NumPy

struct Shape {
  std::array<Dims, 3> rows;  // indexed by RowKind

  const Dims& operator[](RowKind kind) const {
    return rows[static_cast<int>(kind)];
  }
  Dims& operator[](RowKind kind) { return rows[static_cast<int>(kind)]; }
  Dims dims() const;  // all axes in memory order

  friend bool operator==(const Shape&, const Shape&) = default;
};

// What the axes of each row measure, such as "rgb"; axes of equal sizes and
// different bases do not go together. Empty: "default"; a row of which nothing
// is said is empty.
using Bases = std::array<std::vector<std::string>, 3>;  // indexed by RowKind

// "2|3->4"; empty batch and input rows are left out: "4". A size of 0, which
// is not known, is "_". With bases that are not the default: "28,28,3 rgb".
std::string ToString(const Shape& shape, const Bases& bases = {});

// What a user says of a shape: the rows that are given; others are inferred.
struct ShapeSpec {
  std::array<std::optional<Dims>, 3> rows;
  Boxed<Bases> bases = {};  // of rows that are given

  const std::optional<Dims>& operator[](RowKind kind) const {
    return rows[static_cast<int>(kind)];
  }
  std::optional<Dims>& operator[](RowKind kind) {
    return rows[static_cast<int>(kind)];
  }
};

// All rows of `shape`.
ShapeSpec SpecOf(const Shape& shape);

// Reads batch|input->output, such as "50|64", "2|3->4" or "28,28,3 rgb"; a row
// that is left out is empty, and a word behind a size is its basis. Error:
// other text, or a size that is not from 1 to 2^40.
absl::StatusOr<ShapeSpec> ParseRows(absl::string_view text);

}  // namespace ocannl

#endif  // OCANNL_CORE_TENSOR_SHAPE_H_
