// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/value.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ocannl/core/base/check.h"
#include "ocannl/core/ops/number.h"
#include "ocannl/core/tensor/dims.h"
#include "ocannl/core/tensor/leaf.h"

namespace ocannl::onnx {
namespace {

// The axes as a row; commas make its names long.
std::string Row(const Axes& axes) {
  std::string row;
  for (const std::string& axis : axes) absl::StrAppend(&row, axis, ", ");
  return row;
}

EinsumAxis ParseAxis(const std::string& text) {
  absl::StatusOr<EinsumAxis> axis = ParseEinsumAxis(text, {});
  CHECK_OK(axis.status());
  return *axis;
}

int64_t SizeOfAxis(const std::string& text, const NameSizes& sizes) {
  const EinsumAxis axis = ParseAxis(text);
  if (axis.is_position()) return axis.position + 1;
  if (axis.is_plain()) return sizes.at(axis.name);
  int64_t size = 0;
  for (const std::string& part : axis.parts) size += sizes.at(part);
  if (!axis.parts.empty()) return size;
  CHECK(!axis.kernel.empty() && axis.fit == WindowFit::kExact);
  return axis.stride * (sizes.at(axis.name) - 1) +
         axis.dilation * (sizes.at(axis.kernel) - 1) + 1;
}

// `a` with axes of one cell that broadcast where those of `dims` have more.
Value Aligned(const Value& a, const Dims& dims) {
  const Axes names = AxisNames(a.rank());
  Axes axes = names;
  for (int k = 0; k < a.rank(); ++k) {
    if (a.dims[k] != dims[dims.size() - a.rank() + k]) axes[k] = "0";
  }
  if (axes == names) return a;
  return Reduce({}, Op::kAdd, {{a, axes}}, axes);
}

// Makes the numbers tensors without axes: a number has an axis of one cell,
// which broadcasts, but which a result of others without axes would get.
void NumbersToScalars(std::vector<Arg>& args) {
  std::optional<Tensor> other;
  for (const Arg& arg : args) {
    const auto* tensor = std::get_if<Tensor>(&arg.value);
    if (tensor != nullptr) other = *tensor;
  }
  for (Arg& arg : args) {
    const auto* number = std::get_if<double>(&arg.value);
    if (number == nullptr) continue;
    arg = Filled(*other->graph, {}, *number, other->node().dtype).arg;
  }
}

}  // namespace

Value Constant(Graph& graph, NdArray array) {
  const Dims dims = array.dims();
  Dims stored = dims;
  for (int64_t& size : stored) size = std::max<int64_t>(1, size);
  if (stored != dims) array = NdArray(array.dtype(), stored);
  ShapeSpec spec;
  spec.rows = {Dims(), stored, Dims()};
  return {Data(graph, absl::StrCat("x", graph.size()), std::move(array), spec),
          dims};
}

Value Filled(Graph& graph, Dims dims, double number, DType dtype) {
  NdArray array(dtype, std::move(dims));
  VisitDType(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& cell : array.values<T>()) cell = number::Convert<T>(number);
  });
  return Constant(graph, std::move(array));
}

Value Iota(Graph& graph, int64_t size) {
  std::vector<int64_t> numbers(size);
  absl::c_iota(numbers, 0);
  return Constant(graph, NdArray::Of<int64_t>({size}, numbers));
}

Value Map(Op op, const std::vector<Value>& args) {
  Dims dims;
  for (const Value& arg : args) {
    if (arg.dims.size() > dims.size()) {
      dims.insert(dims.begin(), arg.dims.size() - dims.size(), 1);
    }
    for (size_t i = 1; i <= arg.dims.size(); ++i) {
      int64_t& size = dims[dims.size() - i];
      if (size == 1) size = arg.dims[arg.dims.size() - i];
    }
  }
  std::vector<Arg> aligned;
  for (const Value& arg : args) aligned.push_back(Aligned(arg, dims).arg);
  if (dims.empty()) NumbersToScalars(aligned);
  return {Pointwise(op, aligned), dims};
}

Value Cast(const Value& a, DType dtype) {
  if (a.dtype() == dtype) return a;
  if (dtype == DType::kBool) return NotEqual(a, 0);
  return {Convert(a.arg, dtype), a.dims};
}

Axes AxisNames(int rank) {
  Axes names;
  for (int k = 0; k < rank; ++k) names.push_back(absl::StrCat("a", k));
  return names;
}

std::string SpecOf(const std::vector<Term>& terms, const Axes& result) {
  std::vector<std::string> rows;
  for (const Term& term : terms) rows.push_back(Row(term.axes));
  return absl::StrCat(absl::StrJoin(rows, "; "), " => ", Row(result));
}

Dims DimsOf(const std::vector<Term>& terms, const Axes& result,
            const NameSizes& sizes) {
  NameSizes all = sizes;
  for (const Term& term : terms) {
    CHECK_EQ(term.axes.size(), term.value.dims.size());
    for (size_t k = 0; k < term.axes.size(); ++k) {
      if (!ParseAxis(term.axes[k]).is_plain()) continue;
      const int64_t size = term.value.dims[k];
      CHECK_EQ(all.try_emplace(term.axes[k], size).first->second, size);
    }
  }
  Dims dims;
  for (const std::string& axis : result) dims.push_back(SizeOfAxis(axis, all));
  return dims;
}

Value Reduce(std::optional<Op> op, Op accum, const std::vector<Term>& terms,
             const Axes& result, const NameSizes& sizes) {
  std::vector<Arg> args;
  bool is_bool = false;
  for (const Term& term : terms) {
    is_bool = is_bool || term.value.dtype() == DType::kBool;
    args.push_back(is_bool ? Cast(term.value, DType::kU8).arg : term.value.arg);
  }
  Tensor made = Reduce(op, accum, SpecOf(terms, result), args);
  for (const auto& [name, size] : sizes) {
    if (size > 0) CHECK_OK(SetDim(made, name, size));
  }
  Value reduced(made, DimsOf(terms, result, sizes));
  return is_bool ? Cast(reduced, DType::kBool) : reduced;
}

Value Product(const std::vector<Term>& terms, const Axes& result,
              const NameSizes& sizes) {
  return Reduce(Op::kMul, Op::kAdd, terms, result, sizes);
}

Value ReduceAxes(Op accum, const Value& a, const std::vector<int64_t>& axes) {
  const Axes names = AxisNames(a.rank());
  Axes kept = names;
  for (int64_t axis : axes) kept[axis] = "0";
  return Reduce({}, accum, {{a, names}}, kept);
}

Value Reshape(const Value& a, const Dims& dims) {
  if (NumElements(a.dims) == 0) return {a.tensor(), dims};
  Shape shape;
  shape[RowKind::kOutput] = dims;
  return {Reshape(a.arg, shape), dims};
}

Value Multiplied(const Value& a, int axis) {
  if (a.dims[axis] == 0) {
    Dims dims = a.dims;
    dims[axis] = 1;
    return Filled(*a.tensor().graph, dims, 1, a.dtype());
  }
  Value product = Part(a, axis, 0, 1);
  for (int64_t k = 1; k < a.dims[axis]; ++k) {
    product = product * Part(a, axis, k, 1);
  }
  return product;
}

Value Transpose(const Value& a, const std::vector<int64_t>& permutation) {
  const Axes axes = AxisNames(a.rank());
  Axes permuted;
  for (int64_t axis : permutation) permuted.push_back(axes[axis]);
  return Reduce({}, Op::kAdd, {{a, axes}}, permuted);
}

Value Expand(const Value& a, const Dims& dims) {
  const int left = static_cast<int>(dims.size()) - a.rank();
  CHECK_GE(left, 0);
  const Axes names = AxisNames(static_cast<int>(dims.size()));
  Axes from(names.begin() + left, names.end());
  NameSizes sizes;
  for (int k = 0; k < static_cast<int>(dims.size()); ++k) {
    if (k >= left && a.dims[k - left] == dims[k]) continue;
    if (k >= left) from[k - left] = "0";
    sizes.emplace(names[k], dims[k]);
  }
  return Reduce({}, Op::kAdd, {{a, from}}, names, sizes);
}

Value Part(const Value& a, int axis, int64_t start, int64_t size) {
  const int64_t behind = a.dims[axis] - start - size;
  CHECK(start >= 0 && size >= 0 && behind >= 0);
  if (size == a.dims[axis]) return a;
  Axes from = AxisNames(a.rank());
  const Axes to = from;
  NameSizes sizes = {{to[axis], size}};
  if (start > 0) {
    from[axis] = absl::StrCat("before^", from[axis]);
    sizes["before"] = start;
  }
  if (behind > 0) {
    absl::StrAppend(&from[axis], "^behind");
    sizes["behind"] = behind;
  }
  return Reduce({}, Op::kAdd, {{a, from}}, to, sizes);
}

Value Pad(const Value& a, int axis, int64_t before, int64_t behind, Op accum) {
  const int64_t cut = std::max<int64_t>(0, -before);
  const int64_t kept = a.dims[axis] - cut - std::max<int64_t>(0, -behind);
  const Value part = Part(a, axis, cut, kept);
  const Axes from = AxisNames(a.rank());
  Axes to = from;
  NameSizes sizes;
  if (before > 0) {
    to[axis] = absl::StrCat("before^", to[axis]);
    sizes["before"] = before;
  }
  if (behind > 0) {
    absl::StrAppend(&to[axis], "^behind");
    sizes["behind"] = behind;
  }
  if (sizes.empty()) return part;
  return Reduce({}, accum, {{part, from}}, to, sizes);
}

Value Concatenate(const std::vector<Value>& parts, int axis) {
  std::vector<Term> terms;
  Axes result = AxisNames(parts[0].rank());
  result[axis].clear();
  for (const Value& part : parts) {
    if (part.dims[axis] == 0) continue;
    const std::string name = absl::StrCat("p", terms.size());
    terms.push_back({part, AxisNames(part.rank())});
    terms.back().axes[axis] = name;
    absl::StrAppend(&result[axis], terms.size() > 1 ? "^" : "", name);
  }
  return Reduce({}, Op::kAdd, terms, result);
}

Value LogSoftmax(const Value& x, int axis) {
  const Value shifted = x - ReduceAxes(Op::kMax, x, {axis});
  return shifted - Log(ReduceAxes(Op::kAdd, Exp(shifted), {axis}));
}

int Axis(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

int64_t SizeOf(const Dims& dims, int begin, int end) {
  return NumElements(absl::MakeSpan(dims).subspan(begin, end - begin));
}

}  // namespace ocannl::onnx
