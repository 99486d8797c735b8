// SPDX-License-Identifier: Apache-2.0
#include "ocannl/train/eager/axes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/base/user_error.h"
#include "ocannl/core/tensor/dims.h"

namespace ocannl::train {
namespace {

Tensor Einsum(std::optional<Op> op, Op accum, const std::vector<Term>& terms,
              const Axes& result, const AxisSizes& sizes) {
  std::vector<std::string> rows;
  std::vector<Arg> args;
  for (const Term& term : terms) {
    rows.push_back(Row(term.axes));
    args.push_back(term.tensor);
  }
  const Tensor made = Reduce(
      op, accum, absl::StrCat(absl::StrJoin(rows, "; "), " => ", Row(result)),
      args);
  for (const auto& [name, size] : sizes) CHECK_OK(SetDim(made, name, size));
  return made;
}

}  // namespace

Axes AxisNames(size_t rank, absl::string_view prefix) {
  Axes names;
  for (size_t k = 0; k < rank; ++k) names.push_back(absl::StrCat(prefix, k));
  return names;
}

std::string Row(const Axes& axes) {
  std::string row;
  for (const std::string& axis : axes) absl::StrAppend(&row, axis, ", ");
  return row;
}

Tensor SumOfProducts(const std::vector<Term>& terms, const Axes& result,
                     const AxisSizes& sizes) {
  return Einsum(Op::kMul, Op::kAdd, terms, result, sizes);
}

Tensor ReduceTo(Op accum, const Term& term, const Axes& result,
                const AxisSizes& sizes) {
  return Einsum(std::nullopt, accum, {term}, result, sizes);
}

std::string DimsText(const Dims& dims) {
  return absl::StrCat("{", absl::StrJoin(dims, ","), "}");
}

absl::Status CheckRank(const Operand& x, size_t k, size_t rank) {
  if (x.dims.size() == rank) return absl::OkStatus();
  return UserError("operand ", k, " has shape ", DimsText(x.dims),
                   "; it must have ", rank, " axes");
}

absl::StatusOr<Operand> BroadcastTo(const Operand& x, const Dims& dims) {
  const size_t rank = x.dims.size();
  Axes from, to = AxisNames(dims.size());
  AxisSizes sizes;
  bool fits = rank <= dims.size();
  for (size_t k = 0; fits && k < dims.size(); ++k) {
    const bool is_new = k + rank < dims.size();
    const int64_t size = is_new ? 1 : x.dims[k + rank - dims.size()];
    if (!is_new) from.push_back(size == dims[k] ? to[k] : "0");
    if (is_new || size != dims[k]) sizes.emplace_back(to[k], dims[k]);
    fits = dims[k] > 0 && (size == dims[k] || size == 1);
  }
  if (!fits) {
    return UserError("shape ", DimsText(x.dims), " does not broadcast to ",
                     DimsText(dims));
  }
  if (sizes.empty()) return x;
  return Operand{ReduceTo(Op::kAdd, {x.tensor, from}, to, sizes), dims};
}

Operand PermuteAxes(const Operand& x, const std::vector<size_t>& order) {
  const Axes names = AxisNames(x.dims.size());
  Axes to;
  Dims dims;
  for (size_t axis : order) {
    to.push_back(names[axis]);
    dims.push_back(x.dims[axis]);
  }
  return {ReduceTo(Op::kAdd, {x.tensor, names}, to), dims};
}

Operand ReshapeTo(const Operand& x, const Dims& dims) {
  Shape shape;
  shape[RowKind::kOutput] = dims;
  return {Reshape(x.tensor, shape), dims};
}

Operand PartOf(const Operand& x, size_t axis, int64_t start, int64_t size) {
  const int64_t behind = x.dims[axis] - start - size;
  if (size == x.dims[axis]) return x;
  Axes from = AxisNames(x.dims.size());
  const Axes to = from;
  AxisSizes sizes = {{to[axis], size}};
  if (start > 0) {
    from[axis] = absl::StrCat("before^", from[axis]);
    sizes.emplace_back("before", start);
  }
  if (behind > 0) {
    absl::StrAppend(&from[axis], "^behind");
    sizes.emplace_back("behind", behind);
  }
  Dims dims = x.dims;
  dims[axis] = size;
  return {ReduceTo(Op::kAdd, {x.tensor, from}, to, sizes), dims};
}

Operand PadAxis(const Operand& x, size_t axis, int64_t before, int64_t behind,
                Op accum) {
  const int64_t cut = std::max<int64_t>(0, -before);
  const int64_t kept = x.dims[axis] - cut - std::max<int64_t>(0, -behind);
  Operand part = PartOf(x, axis, cut, kept);
  const Axes from = AxisNames(x.dims.size());
  Axes to = from;
  AxisSizes sizes;
  if (before > 0) {
    to[axis] = absl::StrCat("before^", to[axis]);
    sizes.emplace_back("before", before);
    part.dims[axis] += before;
  }
  if (behind > 0) {
    absl::StrAppend(&to[axis], "^behind");
    sizes.emplace_back("behind", behind);
    part.dims[axis] += behind;
  }
  if (sizes.empty()) return part;
  return {ReduceTo(accum, {part.tensor, from}, to, sizes), part.dims};
}

}  // namespace ocannl::train
