// SPDX-License-Identifier: Apache-2.0
//
// Einsums of operands that have output axes only, with a name for each axis.
#ifndef OCANNL_TRAIN_EAGER_AXES_H_
#define OCANNL_TRAIN_EAGER_AXES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "ocannl/core/ops/op.h"
#include "ocannl/core/tensor/tensor.h"
#include "ocannl/train/eager/op_call.h"

namespace ocannl::train {

using Axes = std::vector<std::string>;
using AxisSizes = std::vector<std::pair<std::string, int64_t>>;

// "a0", "a1" and so on.
Axes AxisNames(size_t rank, absl::string_view prefix = "a");

// The axes as a row of a spec: "a0, a1, ". The commas make its names long.
std::string Row(const Axes& axes);

struct Term {
  Tensor tensor;
  Axes axes;
};

// Sums of products of the terms, of which there are two.
Tensor SumOfProducts(const std::vector<Term>& terms, const Axes& result,
                     const AxisSizes& sizes = {});

// accum of each group of cells of one term; where groups are of one cell, its
// cells in other places.
Tensor ReduceTo(Op accum, const Term& term, const Axes& result,
                const AxisSizes& sizes = {});

// "{4,3}".
std::string DimsText(const Dims& dims);

// Error: operand k, from 1, has another number of axes.
absl::Status CheckRank(const Operand& x, size_t k, size_t rank);

absl::StatusOr<Operand> BroadcastTo(const Operand& x, const Dims& dims);
Operand PermuteAxes(const Operand& x, const std::vector<size_t>& order);
Operand ReshapeTo(const Operand& x, const Dims& dims);
// The `size` cells of an axis from cell `start` on, which are there.
Operand PartOf(const Operand& x, size_t axis, int64_t start, int64_t size);
// With that many cells more at both ends of an axis, or fewer if below 0: what
// `accum` begins with.
Operand PadAxis(const Operand& x, size_t axis, int64_t before, int64_t behind,
                Op accum = Op::kAdd);

}  // namespace ocannl::train

#endif  // OCANNL_TRAIN_EAGER_AXES_H_
