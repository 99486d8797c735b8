// SPDX-License-Identifier: Apache-2.0
#include "ocannl/onnx/rules/select.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "ocannl/core/tensor/indexing.h"

namespace ocannl::onnx {
namespace {

// Exchanges an axis and the last one.
Value SwapWithLast(const Value& a, int axis) {
  Numbers axes = AxesFrom(0, a.rank());
  std::swap(axes[axis], axes.back());
  return Transpose(a, axes);
}

}  // namespace

Value Gather(const Term& table, const Term& ids, const Axes& result) {
  if (table.value.dtype() == DType::kBool) {
    const Term cells = {Cast(table.value, DType::kU8), table.axes};
    return Cast(Gather(cells, ids, result), DType::kBool);
  }
  Tensor made = Gather(SpecOf({table, ids}, result), table.value.tensor(),
                       ids.value.tensor());
  return {made, DimsOf({table, ids}, result, {})};
}

Value ScatterAdd(const Term& values, const Term& ids, const Axes& result,
                 const std::string& at, int64_t size) {
  if (values.value.dtype() == DType::kBool) {
    const Term cells = {Cast(values.value, DType::kU8), values.axes};
    return Cast(ScatterAdd(cells, ids, result, at, size), DType::kBool);
  }
  const Dims dims = DimsOf({values, ids}, result, {{at, size}});
  if (NumElements(dims) == 0) {
    return Filled(*ids.value.tensor().graph, dims, 0, values.value.dtype());
  }
  Tensor made = ScatterAdd(SpecOf({values, ids}, result), values.value.tensor(),
                           ids.value.tensor(), size);
  return {made, dims};
}

Value GatherAxis(const Value& a, int axis, const Value& ids) {
  Axes from = AxisNames(a.rank());
  Axes id_axes;
  for (int k = 0; k < ids.rank(); ++k) id_axes.push_back(absl::StrCat("i", k));
  Axes result = from;
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, id_axes.begin(), id_axes.end());
  return Gather({a, from}, {ids, id_axes}, result);
}

Value Take(const Value& a, int axis, const Numbers& cells) {
  const auto count = static_cast<int64_t>(cells.size());
  return GatherAxis(
      a, axis,
      Constant(*a.tensor().graph, NdArray::Of<int64_t>({count}, cells)));
}

Value TakeEvery(const Value& a, int axis, int64_t start, int64_t step,
                int64_t count) {
  Require(count <= kMostConstantBytes / 8, count, " ids of cells");
  Numbers cells(count);
  for (int64_t k = 0; k < count; ++k) cells[k] = start + k * step;
  return Take(a, axis, cells);
}

Value Reversed(const Value& a, int axis) {
  return TakeEvery(a, axis, a.dim(axis) - 1, -1, a.dim(axis));
}

Value OneHot(const Value& ids, int axis, int64_t depth, DType dtype) {
  Dims dims = ids.dims;
  dims.push_back(depth);
  const Value hot(OneHot(ids.tensor(), depth, dtype), dims);
  Numbers axes = AxesFrom(0, ids.rank());
  axes.insert(axes.begin() + axis, ids.rank());
  return Transpose(hot, axes);
}

Value ArgExtreme(const Value& a, int axis, bool greatest, bool last) {
  const Value rows = SwapWithLast(last ? Reversed(a, axis) : a, axis);
  Dims dims = rows.dims;
  dims.pop_back();
  const Tensor x = rows.tensor();
  const Value found(greatest ? ArgMax("..., i", x) : ArgMin("..., i", x), dims);
  dims.push_back(1);
  const Value at = SwapWithLast(Reshape(Cast(found, DType::kI64), dims), axis);
  return last ? static_cast<double>(a.dim(axis) - 1) - at : at;
}

Value CumulativeSum(const Value& a, int axis) {
  const Value rows = SwapWithLast(a, axis);
  return SwapWithLast({CumulativeSum("..., i", rows.tensor()), rows.dims},
                      axis);
}

}  // namespace ocannl::onnx
