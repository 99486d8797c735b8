// SPDX-License-Identifier: Apache-2.0
//
// Values that are known at import.
#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/index/byte_size.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/tensor/leaf.h"
#include "ocannl/onnx/rules/value.h"

namespace ocannl::onnx {
namespace {

ShapeSpec OutputAxes(const Dims& dims) {
  ShapeSpec spec;
  spec.rows = {Dims(), dims, Dims()};
  return spec;
}

// Memory for a constant of the import.
NdArray NewConstant(const Dims& dims, DType dtype) {
  const absl::StatusOr<int64_t> bytes = ByteSize(dtype, dims);
  Require(bytes.ok() && *bytes <= kMostConstantBytes, "a constant of the dims ",
          absl::StrJoin(dims, ","), " is larger than ", kMostConstantBytes,
          " bytes");
  return NdArray(dtype, dims);
}

}  // namespace

Dims Value::between(int64_t begin, int64_t end) const {
  Require(0 <= begin && begin <= end && end <= rank(), "axes ", begin, " to ",
          end, " of ", rank(), " axes");
  return {dims.begin() + begin, dims.begin() + end};
}

Value Constant(Graph& graph, NdArray array) {
  const Dims dims = array.dims();
  Dims stored = dims;
  for (int64_t& size : stored) size = std::max<int64_t>(1, size);
  if (stored != dims) array = NdArray(array.dtype(), stored);
  const DType dtype = array.dtype();
  const Tensor made = Data(graph, absl::StrCat("x", graph.size()),
                           std::move(array), OutputAxes(stored));
  Value value(made, dims);
  if (stored != dims) {
    value.known = std::make_shared<const NdArray>(dtype, dims);
  } else if (const auto* data = std::get_if<DataSource>(&made.node().source)) {
    value.known = data->data;
  }
  return value;
}

Value Parameter(Graph& graph, std::string name, NdArray array) {
  const Dims dims = array.dims();
  const DType dtype = array.dtype();
  std::shared_ptr<const NdArray> data;
  const Initializer init = [&](Tensor parameter) {
    const Tensor first =
        Data(graph, absl::StrCat(parameter.node().name, "_in_file"),
             std::move(array), OutputAxes(dims));
    if (const auto* source = std::get_if<DataSource>(&first.node().source)) {
      data = source->data;
    }
    return first;
  };
  Value value(Param(graph, std::move(name), OutputAxes(dims), dtype, init),
              dims);
  value.known = std::move(data);
  value.is_parameter = true;
  return value;
}

Value Filled(Graph& graph, Dims dims, double number, DType dtype) {
  NdArray array = NewConstant(dims, dtype);
  VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& cell : array.values<T>()) cell = number::Convert<T>(number);
  });
  return Constant(graph, std::move(array));
}

Value Iota(Graph& graph, int64_t size) {
  NdArray array = NewConstant({size}, DType::kI64);
  const absl::Span<int64_t> cells = array.values<int64_t>();
  std::iota(cells.begin(), cells.end(), 0);
  return Constant(graph, std::move(array));
}

NdArray Converted(const NdArray& array, DType dtype) {
  if (array.dtype() == dtype) return array;
  NdArray converted(dtype, array.dims());
  VisitDType(array.dtype(), [&](auto from) {
    VisitDType(dtype, [&](auto to) {
      using From = decltype(from);
      using To = decltype(to);
      for (int64_t k = 0; k < array.size(); ++k) {
        converted.values<To>()[k] =
            number::Convert<To>(array.values<From>()[k]);
      }
    });
  });
  return converted;
}

}  // namespace ocannl::onnx
